use super::*;

/// Temporary file of a test, removed when dropped.
struct Temporary(std::path::PathBuf);

impl Temporary {
    fn new(name: &str, contents: &str) -> Self {
        let path = std::env::temp_dir().join(format!("myriad-entry-{name}-{}", std::process::id()));
        std::fs::write(&path, contents).unwrap();
        Self(path)
    }

    fn entry(&self) -> PathEntry {
        PathEntry::of(std::fs::metadata(&self.0), 5000, &Arc::default())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn tests_of_files_are_answered_as_nginx_does() {
    let all = [FileTest::File, FileTest::Directory, FileTest::Exists, FileTest::Executable];
    let passed = |entry: &PathEntry| all.map(|test| entry.passes(test));
    let of = |path: &str| PathEntry::of(std::fs::metadata(path), 0, &Arc::default());
    assert_eq!(passed(&Temporary::new("plain", "x").entry()), [true, false, true, false]);
    assert_eq!(passed(&of("/tmp")), [false, true, true, true]);
    assert_eq!(passed(&of("/dev/null")), [false, false, true, false]);
    assert_eq!(passed(&of("/nonexistent")), [false, false, false, false]);
    assert!(matches!(of("/nonexistent").kind, PathKind::Missing(error) if error.is_absence()));
}

#[test]
fn the_tag_is_time_and_length_in_hexadecimal() {
    let path = Temporary::new("tag", "0123456789abcdef0");
    let file = std::fs::File::open(&path.0).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(784_111_777)).unwrap();
    let entry = path.entry();
    let file = entry.file().unwrap();
    assert_eq!(&file.modified[..], b"Sun, 06 Nov 1994 08:49:37 GMT");
    let EntityTag::Origin { opaque, weak: false, undone: false } = &file.tag else { panic!("a strong tag") };
    assert_eq!(&opaque[..], b"2ebc98a1-11");
}

#[test]
fn a_time_before_the_epoch_is_the_epoch() {
    let path = Temporary::new("old", "x");
    let file = std::fs::File::open(&path.0).unwrap();
    file.set_modified(std::time::UNIX_EPOCH - std::time::Duration::from_secs(10)).unwrap();
    assert_eq!(path.entry().file().unwrap().modified_s, 0);
}

#[test]
fn a_stronger_coding_replaces_a_weaker_one_and_is_not_replaced() {
    let entry = Temporary::new("coding", "x").entry();
    let file = entry.file().unwrap();
    assert!(file.encoded(Coding::Gzip).is_none());
    file.attach(Coding::Gzip, 1, Bytes::from_static(b"long"));
    file.attach(Coding::Gzip, 6, Bytes::from_static(b"abc"));
    file.attach(Coding::Gzip, 6, Bytes::from_static(b"same level"));
    file.attach(Coding::Gzip, 2, Bytes::from_static(b"weaker"));
    assert_eq!(file.encoded(Coding::Gzip), Some((6, Bytes::from_static(b"abc"))));
    assert!(file.encoded(Coding::Brotli).is_none());
    assert_eq!(file.weight(), 3);
}

#[test]
fn what_a_file_holds_is_taken_off_the_total_with_it() {
    let path = Temporary::new("held", "abc");
    let held = Arc::<CachedFileTotals>::default();
    let entry = PathEntry::of(std::fs::metadata(&path.0), 0, &held);
    let file = entry.file().unwrap();
    file.load(&path.0).unwrap();
    file.load(&path.0).unwrap();
    file.attach(Coding::Zstd, 3, Bytes::from_static(b"zz"));
    assert_eq!((held.bytes.load(Relaxed), file.contents().unwrap()), (5, &Bytes::from_static(b"abc")));
    drop(entry);
    assert_eq!(held.bytes.load(Relaxed), 0);
}

#[test]
fn use_is_noted_to_a_second() {
    let entry = Temporary::new("used", "x").entry();
    for (now, noted) in [(5999, 5000), (6000, 6000), (6500, 6000), (1000, 6000), (9000, 9000)] {
        entry.mark_used(now);
        assert_eq!(entry.used_ms(), noted, "at {now}");
    }
}

#[test]
fn a_change_of_mode_is_a_change() {
    use std::os::unix::fs::PermissionsExt;
    let path = Temporary::new("mode", "x");
    let entry = path.entry();
    assert!(entry.is_unchanged(&std::fs::metadata(&path.0)));
    std::fs::set_permissions(&path.0, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert!(!entry.is_unchanged(&std::fs::metadata(&path.0)));
    std::fs::remove_file(&path.0).unwrap();
    assert!(!entry.is_unchanged(&std::fs::metadata(&path.0)));
}
