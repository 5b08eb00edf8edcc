//! Tests of disk failures and killed processes.

use super::*;

#[test]
fn a_folder_that_cannot_be_made_leaves_the_zone_in_memory_until_it_can() {
    let folder = Folder::new();
    let path = folder.path().join("file/cache");
    fs::write(folder.path().join("file"), b"in the way").unwrap();
    let fixture = Fixture::open(&path);
    fixture.put(b"/", 1, 10);
    fixture.pool.maintain();
    assert_eq!((fixture.id(b"/"), fixture.stats().dropped), (Some(1), 1));
    let failures = || fixture.events.lock().iter().filter(|event| event.starts_with("Failed")).count();
    assert_eq!(failures(), 1);
    fs::remove_file(folder.path().join("file")).unwrap();
    fixture.recover();
    assert!(fixture.events.lock().iter().any(|event| event == "Works"));
    let before = fixture.put(b"/", 2, 10).generation();
    drop(fixture);
    let fixture = Fixture::open(&path);
    assert_eq!(fixture.id(b"/"), Some(2));
    assert!(fixture.put(b"/", 3, 10).generation() > before);
}

#[test]
fn failed_writes_are_reported_once_and_retried() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    // A file is in the place of the folder, so that not even root can write below it.
    fs::write(folder.path().join(".tmp"), b"").unwrap();
    for n in 0..20_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
        assert!(fixture.in_memory(&n.to_le_bytes()));
        fixture.now.fetch_add(300, Relaxed);
    }
    assert_eq!((fixture.stats().dropped, fixture.stats().writes, fixture.stats().bytes), (20, 0, 0));
    assert_eq!(fixture.events.lock().len(), 1);
    fs::remove_file(folder.path().join(".tmp")).unwrap();
    fixture.now.fetch_add(11_000, Relaxed);
    fixture.put(b"/", 1, 10);
    assert_eq!(fixture.stats().writes, 1);
    assert_eq!(fixture.events.lock().last().unwrap(), "Works");
}

#[test]
fn a_write_that_fails_takes_the_older_page_with_it() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"/", 1, 10);
    fs::remove_dir_all(folder.path().join(".tmp")).unwrap();
    fs::write(folder.path().join(".tmp"), b"").unwrap();
    fixture.put(b"/", 2, 10);
    fixture.pool.maintain();
    assert_eq!(Fixture::open(folder.path()).id(b"/"), None, "rather nothing than the page before");
}

#[test]
fn damage_is_never_served_whatever_byte_it_strikes() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"/", 1, 300);
    // A process without the lease would leave quarantining to the process that writes.
    drop(fixture);
    let path = folder.files().remove(0);
    let bytes = fs::read(&path).unwrap();
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        let fixture = Fixture::open(folder.path());
        assert_eq!(fixture.id(b"/"), None, "byte {at}");
        assert_eq!(fixture.stats().quarantined, 1);
        assert!(!path.exists());
    }
    for len in (0..bytes.len()).step_by(11) {
        fs::write(&path, &bytes[..len]).unwrap();
        assert_eq!(Fixture::open(folder.path()).id(b"/"), None, "cut to {len}");
    }
    fs::write(&path, &bytes).unwrap();
    assert_eq!(Fixture::open(folder.path()).id(b"/"), Some(1));
}

#[test]
fn the_file_of_another_key_is_not_taken_for_this_one_s() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"/a", 1, 10);
    fixture.put(b"/b", 2, 10);
    let path = |key: &[u8]| myriad_disk::index::FileName::of_key(key).path(folder.path(), &[1, 2]);
    fs::copy(path(b"/a"), path(b"/b")).unwrap();
    let fixture = Fixture::open(folder.path());
    assert_eq!((fixture.id(b"/a"), fixture.id(b"/b")), (Some(1), None));
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"/", 1, 10);
    let path = folder.files().remove(0);
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert_eq!(Fixture::open(folder.path()).id(b"/"), None);
}

#[test]
fn unsynced_writes_that_a_power_loss_drops_serve_nothing_wrong() {
    for seed in 0..200 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let folder = Folder::new();
        let fixture = Fixture::open(folder.path());
        for n in 0..8_u64 {
            fixture.put(&n.to_le_bytes(), n, rng.usize(8..9000));
        }
        drop(fixture);
        // Results of a rename that reached the disk before the file's blocks: a file of the right length with holes, or
        // a truncated file.
        for path in folder.files() {
            let mut bytes = fs::read(&path).unwrap();
            match rng.u8(..4) {
                0 => bytes.truncate(rng.usize(..bytes.len())),
                1 => {
                    let from = rng.usize(..bytes.len()) / 512 * 512;
                    let to = (from + 4096).min(bytes.len());
                    bytes[from..to].fill(0);
                }
                2 => bytes.fill(0),
                _ => {}
            }
            fs::write(&path, bytes).unwrap();
        }
        let fixture = Fixture::open(folder.path());
        if rng.bool() {
            fixture.recover();
        }
        for n in 0..8_u64 {
            // `id` compares all bytes of the body.
            assert!([None, Some(n)].contains(&fixture.id(&n.to_le_bytes())), "seed {seed}");
        }
    }
}
