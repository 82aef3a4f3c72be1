#!/usr/bin/env python3
"""Fetches LibTorch 2.11.0 (the PyPI wheel, and the two CUDA libraries that even its CPU half loads) into a folder.

usage: fetch_libtorch.py DEST [--gpu]

DEST appears only when complete: it is unpacked beside itself and renamed. Downloads are kept beside DEST until then,
so an interrupted fetch goes on where it stopped. A lock keeps two set-ups from fetching at once.

--gpu: also what libtorch_cuda loads and neither the wheel nor a CUDA 13 toolkit on this machine brings, each library
alone: those that the dynamic loader finds already are not fetched.

The wheels are found and fetched with the user's own pip configuration (index, proxy, certificates, credentials). pip
itself cannot resume after an interruption, and its "install" would add several GB, so a pinned pip of our own is used
as a library, for its finder and its session.
"""
import contextlib
import dataclasses
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import time
import zipfile


@dataclasses.dataclass(frozen=True)
class Wheel:
    project: str
    version: str
    sha256: str
    keep: tuple  # what is unpacked: path prefixes inside the wheel


# One torch wheel serves every Python: no Python extension is built or loaded. The libraries find each other through
# DT_RPATH $ORIGIN/../../nvidia/cu13/lib, so torch/ and nvidia/ stay side by side, as in site-packages.
WHEELS = (
    Wheel("torch", "2.11.0", "7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a",
          ("torch/lib/", "torch/include/", "torch/share/", "torch/version.py")),
    Wheel("nvidia-cuda-runtime", "13.0.96", "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
          ("nvidia/cu13/lib/libcudart.so",)),
    Wheel("nvidia-cuda-cupti", "13.0.85", "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8",
          ("nvidia/cu13/lib/libcupti.so",)),
)

# What libtorch_cuda loads that a CUDA toolkit does not bring, or not always, by the library that says so.
GPU_WHEELS = {
    "libcusparseLt.so.0": Wheel("nvidia-cusparselt-cu13", "0.8.0",
                                "25e30a8a7323935d4ad0340b95a0b69926eee755767e8e0b1cf8dd85b197d3fd",
                                ("nvidia/cusparselt/lib/",)),
    "libnvshmem_host.so.3": Wheel("nvidia-nvshmem-cu13", "3.4.5",
                                  "290f0a2ee94c9f3687a02502f3b9299a9f9fe826e6d0287ee18482e78d495b80",
                                  ("nvidia/nvshmem/lib/libnvshmem_host.so",)),
    "libcufile.so.0": Wheel("nvidia-cufile", "1.15.1.6",
                            "08a3ecefae5a01c7f5117351c64f17c7c62efa5fffdbe24fc7d298da19cd0b44",
                            ("nvidia/cu13/lib/",)),
    "libnccl.so.2": Wheel("nvidia-nccl-cu13", "2.28.9",
                          "e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42", ("nvidia/nccl/lib/",)),
    "libcudnn.so.9": Wheel("nvidia-cudnn-cu13", "9.19.0.56",
                           "d20e1734305e9d68889a96e3f35094d733ff1f83932ebe462753973e53a572bf", ("nvidia/cudnn/lib/",)),
}
PIP = Wheel("pip", "25.3", "9655943313a94722b7774661c21049070f6bbb0a1516bf02f7c8d5d9201514cd", ())
TARGET = ["--implementation=cp", "--python-version=3.11", "--abi=cp311", "--abi=none",
          "--platform=manylinux_2_28_x86_64", "--platform=manylinux_2_25_x86_64", "--platform=manylinux2014_x86_64"]
ATTEMPTS = 8


def say(text):
    print(f"setup: {text}", flush=True)


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def install_pip(folder):
    """The pinned pip, under `folder`: fetched by whatever pip there is, checked by hash, renamed when complete."""
    if not folder.is_dir():
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        requirement = part.with_suffix(".txt")
        requirement.write_text(f"pip=={PIP.version} --hash=sha256:{PIP.sha256}\n")
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:",
                        "--disable-pip-version-check", "--root-user-action=ignore", "--require-hashes",
                        "--target", part, "-r", requirement], check=True)
        requirement.unlink()
        part.rename(folder)
    sys.path.insert(0, str(folder))


class Index:
    """The user's package index, as the pinned pip sees it."""

    def __init__(self, command):
        from pip._internal.cli.cmdoptions import make_target_python
        options, _ = command.parse_args(["--no-cache-dir", "--no-deps", "--only-binary=:all:", *TARGET])
        self.session = command.get_default_session(options)
        self.finder = command._build_package_finder(options, self.session, make_target_python(options))

    @classmethod
    @contextlib.contextmanager
    def opened(cls):
        from pip._internal.commands import create_command
        command = create_command("download")
        with command.main_context():
            yield cls(command)

    def find(self, wheel):
        from pip._internal.utils.hashes import Hashes
        from pip._vendor.packaging.specifiers import SpecifierSet
        found = self.finder.find_best_candidate(wheel.project, SpecifierSet(f"=={wheel.version}"),
                                                Hashes({"sha256": [wheel.sha256]})).best_candidate
        if found is None:
            raise RuntimeError(f"the package index has no {wheel.project}=={wheel.version} for Linux x86-64. Which "
                               "index is asked: python3 -m pip config list")
        return found.link.url_without_fragment

    def open(self, url, start):
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={start}-"} if start else {})}
        reply = self.session.get(url, headers=headers, stream=True, timeout=60)
        reply.raise_for_status()
        return reply


class Progress:
    """One line that is rewritten on a terminal; elsewhere one every tenth, but not for less than 50 MB."""

    def __init__(self, name, total, done):
        self.name, self.total, self.first, self.begun = name, total, done, time.monotonic()
        self.terminal, self.next, self.step = sys.stdout.isatty(), 0.0, max(0.1, 50e6 / max(total, 1))

    def show(self, done):
        share = done / self.total if self.total else 0.0
        now = time.monotonic()
        if (now if self.terminal else share) < self.next and done != self.total:
            return
        self.next = now + 0.2 if self.terminal else share + self.step
        rate = (done - self.first) / max(now - self.begun, 1e-3)
        left = f", {(self.total - done) / rate:.0f} s left" if rate > 0 and self.total > done else ""
        line = f"setup: {self.name}: {done / 1e6:.0f} of {self.total / 1e6:.0f} MB ({rate / 1e6:.0f} MB/s{left})"
        print(f"\r{line:<78}" if self.terminal else line, end="\n" if not self.terminal or done == self.total else "",
              flush=True)


def fetch_rest(index, url, part, name):
    """Appends to `part` what it lacks. A server that cannot resume sends all of it: then it is written anew."""
    start = part.stat().st_size if part.exists() else 0
    reply = index.open(url, start)
    if start and reply.status_code != 206:
        start = 0
    total = start + int(reply.headers.get("Content-Length", 0))
    progress = Progress(name, total, start)
    with open(part, "ab" if start else "wb") as file:
        for block in reply.iter_content(1 << 20):
            file.write(block)
            progress.show(file.tell())
    if total and part.stat().st_size < total:
        raise OSError(f"the connection ended after {part.stat().st_size} of {total} bytes")


def fetch(index, wheel, folder):
    """The wheel as a file under `folder`, its hash checked."""
    name = f"{wheel.project}-{wheel.version}"
    done, part = folder / f"{name}.whl", folder / f"{name}.whl.part"
    if done.exists():
        return done
    url = index.find(wheel)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            if not (part.exists() and sha256(part) == wheel.sha256):
                fetch_rest(index, url, part, name)
            break
        except OSError as error:  # requests' and urllib3's errors derive from it
            if getattr(getattr(error, "response", None), "status_code", None) == 416:
                part.unlink()  # longer than the file itself: not ours
            if attempt == ATTEMPTS:
                raise
            say(f"{name}: {error}; going on where it stopped ({attempt} of {ATTEMPTS - 1})")
            time.sleep(min(2 ** attempt, 30))
    if sha256(part) != wheel.sha256:
        part.unlink()
        raise RuntimeError(f"{name}: the file fetched has another sha256 than the {wheel.sha256} expected; it was "
                           "removed. Run the set-up again; if this repeats, the index serves another file.")
    part.rename(done)
    return done


def unpack(archive, keep, folder):
    with zipfile.ZipFile(archive) as wheel:
        for name in wheel.namelist():
            if name.startswith(keep):
                wheel.extract(name, folder)


def fetch_all(dest, downloads):
    part = dest.with_name(f"{dest.name}.part")
    downloads.mkdir(exist_ok=True)
    install_pip(downloads / f"pip-{PIP.version}")
    with Index.opened() as index:
        archives = [(fetch(index, wheel, downloads), wheel.keep) for wheel in WHEELS]
    say(f"unpacking into {dest}")
    shutil.rmtree(part, ignore_errors=True)
    for archive, keep in archives:
        unpack(archive, keep, part)
    os.sync()
    part.rename(dest)


def lacking_for_gpu(dest):
    """The libraries of GPU_WHEELS that libtorch_cuda would not find."""
    seen = subprocess.run(["ldd", dest / "torch/lib/libtorch_cuda.so"], check=True, capture_output=True, text=True)
    missing = {line.split()[0] for line in seen.stdout.splitlines() if "not found" in line}
    return [name for name in GPU_WHEELS if name in missing]


def fetch_gpu(dest, downloads):
    """A library's companions are renamed into place before the library itself, so that one that is there is whole."""
    lacking = lacking_for_gpu(dest)
    if not lacking:
        return
    downloads.mkdir(exist_ok=True)
    install_pip(downloads / f"pip-{PIP.version}")
    part = downloads / "gpu"
    with Index.opened() as index:
        for name in lacking:
            wheel = GPU_WHEELS[name]
            archive = fetch(index, wheel, downloads)
            shutil.rmtree(part, ignore_errors=True)
            unpack(archive, wheel.keep, part)
            for file in sorted((f for f in part.rglob("*") if f.is_file()), key=lambda f: f.name == name):
                place = dest / file.relative_to(part)
                place.parent.mkdir(parents=True, exist_ok=True)
                file.rename(place)
            archive.unlink()
    if still := lacking_for_gpu(dest):
        raise RuntimeError(f"libtorch_cuda still does not find {', '.join(still)}")


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--gpu"]):
        sys.exit(__doc__)
    dest = pathlib.Path(sys.argv[1]).absolute()
    dest.parent.mkdir(parents=True, exist_ok=True)
    with open(dest.with_name(f"{dest.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        downloads = dest.with_name(f"{dest.name}.downloads")
        if not dest.is_dir():
            fetch_all(dest, downloads)
        if sys.argv[2:]:
            fetch_gpu(dest, downloads)
        shutil.rmtree(downloads, ignore_errors=True)


if __name__ == "__main__":
    try:
        main()
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"setup: error: LibTorch could not be fetched: {error}\nsetup: remedy: run it again when the network is "
                 "there; or copy the folder from another machine; or name a LibTorch by REDRAFT_TORCH_ROOT")
    except KeyboardInterrupt:
        sys.exit("\nsetup: interrupted; the next set-up goes on from here")
