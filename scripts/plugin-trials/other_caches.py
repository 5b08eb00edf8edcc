"""Checks page caches of other plugins."""

MARKS = (b"<esi:include", b'token="')


def check_copies(trial):
    """Records copies of pages in files that contain tags of Myriad: they would be sent to visitors as they are."""
    for page in trial.pages.values():
        trial.fetch(page)
    copies = [path for path in (trial.site.root / "wp-content/cache").rglob("*") if path.is_file()]
    broken = [path for path in copies if all(mark in path.read_bytes() for mark in MARKS)]
    for path in broken:
        trial.errors.append({"change": "copy", "url": str(path.relative_to(trial.site.root)), "status": 200, "error": "a copy contains tags of Myriad"})
    trial.notes.append(f"files of the page cache: {len(copies)}")
