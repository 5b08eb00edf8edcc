"""Public page texts: the HTML files of documentation packages of Debian, which are downloaded and unpacked, but not installed."""

import hashlib
import pathlib
import re
import subprocess
import urllib.parse

# Alternatives are separated by `|`; those that the Debian release lacks are left out.
PACKAGES = (
    "rust-doc", "openjdk-17-doc|openjdk-21-doc", "scala-doc", "cppreference-doc-en-html", "python3.11-doc|python3.13-doc", "python-pandas-doc",
    "libstdc++-12-doc|libstdc++-14-doc", "erlang-doc", "ghc-doc", "dpdk-doc", "libcoin-doc", "libboost1.74-doc|libboost1.83-doc", "fp-docs-3.2.2",
    "postgresql-doc-15|postgresql-doc-17", "debian-handbook", "debian-reference-en", "python-django-doc", "python-sympy-doc", "libgtk-3-doc", "git-doc",
    "lazarus-doc-2.2|lazarus-doc-3.0|lazarus-doc-3.8", "python-scipy-doc", "libeigen3-doc", "qtbase5-doc-html", "python-sqlalchemy-doc", "python-matplotlib-doc", "llvm-14-doc|llvm-19-doc")
# Larger files are not pages of a site.
MOST_BYTES, LEAST_BYTES = 400_000, 500


def folder_of_pages(folder):
    """Downloads and unpacks the packages that are missing in a folder; returns the folder of the files."""
    folder = pathlib.Path(folder).resolve()
    root = folder / "root"
    root.mkdir(parents=True, exist_ok=True)
    for names in PACKAGES:
        for name in names.split("|"):
            mark = folder / f"{name}.unpacked"
            if mark.exists() or _unpack(name, folder, root):
                mark.touch()
                break
    return root


def _unpack(name, folder, root):
    if subprocess.run(["apt-get", "download", "-qq", name], cwd=folder, capture_output=True).returncode:
        return False
    for package in folder.glob(f"{name}_*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
        package.unlink()
    return True


def paths_of(root, most):
    """Returns the paths of different HTML files below a folder, at most a number of them. A list next to the folder makes the search unnecessary next time."""
    known = root.parent / f"paths-{len(list(root.parent.glob('*.unpacked')))}.txt"
    if not known.exists():
        known.write_text("\n".join(_find_paths(root)))
    return known.read_text().split()[:most]


def _find_paths(root):
    seen = set()
    for file in sorted(root.rglob("*.html")):
        if file.is_symlink() or not file.is_file() or not LEAST_BYTES <= file.stat().st_size <= MOST_BYTES:
            continue
        # Names with other characters would need an encoded path.
        path = str(file.relative_to(root))
        digest = hashlib.blake2b(file.read_bytes(), digest_size=8).digest()
        if digest not in seen and re.fullmatch(r"[\w./+-]+", path):
            seen.add(digest)
            yield "/" + urllib.parse.quote(path)
