# Writes OUTPUT, a C++ file that holds the texts of FILES (names relative to SOURCE, with , between), as
# model/kernels/cuda/embedded.h declares them. Run by the build (cmake -P).
string(REPLACE "," ";" FILES "${FILES}")
set(entries "")
foreach(name ${FILES})
  file(READ ${SOURCE}/${name} text)
  string(APPEND entries "      {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"model/kernels/cuda/embedded.h\"

namespace redraft::model::gpu {

const std::vector<Embedded>& embeddedFiles() {
  static const std::vector<Embedded> kFiles = {
${entries}  };
  return kFiles;
}

}  // namespace redraft::model::gpu
")
