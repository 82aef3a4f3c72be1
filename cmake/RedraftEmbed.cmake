# Writes OUTPUT, a C++ file that defines NAMESPACE::embeddedFiles() as HEADER declares it: the texts of FILES (names
# relative to SOURCE, which are also the names that they get, or absolute ones, which get their last part; with , between),
# and with HASHES the SHA-256 of each. Run by the build (cmake -P).
string(REPLACE "," ";" FILES "${FILES}")
set(entries "")
foreach(name ${FILES})
  cmake_path(ABSOLUTE_PATH name BASE_DIRECTORY ${SOURCE} OUTPUT_VARIABLE path)
  if(IS_ABSOLUTE ${name})
    cmake_path(GET name FILENAME name)
  endif()
  file(READ ${path} text)
  set(hash "")
  if(HASHES)
    file(SHA256 ${path} hash)
    string(PREPEND hash ", \"")
    string(APPEND hash "\"")
  endif()
  string(APPEND entries "      {\"${name}\", R\"embedded(${text})embedded\"${hash}},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

namespace ${NAMESPACE} {

const std::vector<Embedded>& embeddedFiles() {
  static const std::vector<Embedded> kFiles = {
${entries}  };
  return kFiles;
}

}  // namespace ${NAMESPACE}
")
