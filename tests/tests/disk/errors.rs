//! Limits and errors: too many pages, damaged files, a full or read-only disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use myriad_tests::{Cached, Origin, Place, Request, Signal, noise, wait_for};

use super::{SITE, file_of, files, numbered, wait_for_files};

#[test]
fn max_size_is_held_under_a_flood() {
    let site = Cached { zone: "levels=1:2 max_size=256k", ..SITE };
    let (server, _origin) = site.start(|call| {
        let text = format!("{} ", call.number).repeat(1000);
        call.answer("Content-Type: application/octet-stream", text);
    });
    let most = |folder: &Path| -> u64 {
        let length = |path: &PathBuf| fs::metadata(path).map_or(0, |file| file.len().div_ceil(4096) * 4096);
        files(folder).iter().map(length).sum()
    };
    let mut client = server.connect();
    for number in 0..400 {
        assert_eq!(client.fetch(&Request::get(&format!("/{number}"))).status, 200);
        if number % 20 == 0 {
            assert!(most(&server.path("cache")) <= 256 << 10);
        }
    }
    let folder = server.path("cache");
    wait_for("a full folder", || most(&folder) > 128 << 10);
    assert!(most(&folder) <= 256 << 10);
}

#[test]
fn inactive_files_go() {
    let site = Cached { zone: "levels=1:2 inactive=1s", ..SITE };
    let (server, origin) = site.start(numbered);
    wait_for("a file", || {
        server.get("/a");
        files(&server.path("cache")).len() == 1
    });
    wait_for("a page that is gone with its file", || {
        let asked = origin.count();
        files(&server.path("cache")).is_empty() && server.get("/a").text() == format!("page {}", asked + 1)
    });
}

#[test]
fn a_damaged_or_foreign_file_is_quarantined_and_never_served() {
    let (mut server, _origin) = SITE.start(numbered);
    for target in ["/damaged", "/cut", "/foreign", "/sound"] {
        server.get(target);
    }
    wait_for_files(&server, 4);
    server.signal(Signal::QUIT);
    assert!(server.ended());
    let mut bytes = fs::read(file_of(&server, "/damaged")).expect("file");
    bytes[130] ^= 1;
    fs::write(file_of(&server, "/damaged"), &bytes).expect("file");
    fs::write(file_of(&server, "/cut"), &bytes[..bytes.len() / 2]).expect("file");
    fs::write(
        file_of(&server, "/foreign"),
        b"\x05\0\0\0KEY: httpGETlocalhost/foreign\nHTTP/1.1 200 OK\r\n\r\nno",
    )
    .expect("file");
    server.start_again();
    let served = ["/damaged", "/cut", "/foreign", "/sound"].map(|target| server.get(target).text());
    assert_eq!(served, ["page 5", "page 6", "page 7", "page 4"]);
    server.log_has("is quarantined");
    wait_for_files(&server, 4);
    let aside = fs::read_dir(server.path("cache/.damaged")).expect("the folder of such files");
    let mut kept: Vec<_> =
        aside.flatten().map(|entry| fs::read(entry.path()).expect("a file").len()).collect();
    kept.sort_unstable();
    let mut expected = [bytes.len(), bytes.len() / 2, 55];
    expected.sort_unstable();
    assert_eq!(kept, expected);
    server.restart(Signal::QUIT);
    assert_eq!(server.get("/damaged").cache(), "HIT");
}

#[test]
fn a_folder_that_cannot_be_written_leaves_pages_in_memory_and_one_line_in_the_log() {
    let (server, _origin) = SITE.start(numbered);
    // A file instead of the folder for temporary files prevents writing even for root.
    let aside = server.path("cache/.tmp");
    fs::remove_dir_all(&aside).ok();
    fs::write(&aside, b"").expect("a file in place of the folder");
    for number in 0..50 {
        server.get(&format!("/{number}"));
        assert_eq!(server.get(&format!("/{number}")).cache(), "HIT");
    }
    server.log_has("pages are stored only in memory until the disk works again");
    assert_eq!(server.read("error.log").matches("pages are stored only in memory").count(), 1);
    assert!(files(&server.path("cache")).is_empty());
    fs::remove_file(&aside).expect("the file is removed");
    let mut number = 50;
    wait_for("pages that are kept on disk again", || {
        number += 1;
        server.get(&format!("/{number}"));
        !files(&server.path("cache")).is_empty()
    });
    server.log_has("the disk works again, pages are stored on it");
}

/// Small file system; unmounted on drop.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a small file system, if the user may, and creates `link` to it.
    fn mount(link: &Path) -> Option<Self> {
        let at = &std::env::temp_dir().join(format!("myriad-small-disk-{}", std::process::id()));
        fs::create_dir_all(at).expect("a folder");
        std::os::unix::fs::symlink(at, link).expect("a link");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=512k,mode=777", "tmpfs"]).arg(at);
        let done = mount.stdout(Stdio::null()).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn full_disk_is_bypassed_reported_once_and_used_again_when_space_returns() {
    let place = Place::new();
    let folder = place.path("cache");
    // Without the right to mount, a full disk cannot be tested here; the unit tests of the store simulate failures at
    // each step.
    let Some(_disk) = SmallDisk::mount(&folder) else { return };
    let filler = folder.join("filler");
    let origin = Origin::start(|call| {
        let text = format!("{} ", call.number).repeat(500);
        call.answer("Content-Type: application/octet-stream", text);
    });
    let mut server = SITE.start_before(place, &origin.address);
    assert_eq!(server.get("/before").cache(), "MISS");
    wait_for_files(&server, 1);
    // Fills the disk to the last byte.
    let _ = fs::write(&filler, vec![0; 1 << 20]);
    for number in 0..300 {
        let target = format!("/{number}");
        assert_eq!((server.get(&target).status, server.get(&target).cache()), (200, "HIT"));
    }
    server.log_has("No space left on device");
    let lines = server.read("error.log").lines().count();
    assert_eq!(server.read("error.log").matches("No space left on device").count(), 1);
    assert_eq!(server.get("/before").cache(), "HIT");
    fs::remove_file(&filler).expect("the file that fills the disk is removed");
    let mut number = 1000;
    wait_for("pages that are kept on disk again", || {
        number += 1;
        server.get(&format!("/{number}"));
        files(&folder).len() > 2
    });
    assert!(server.read("error.log").lines().count() <= lines + 1);
    server.restart(Signal::QUIT);
    assert_eq!(server.get("/before").cache(), "HIT");
}

#[test]
fn files_that_cannot_be_read_are_fetched_again_with_one_line_in_the_log() {
    let (mut server, origin) = SITE.start(numbered);
    for number in 0..20 {
        server.get(&format!("/{number}"));
    }
    wait_for_files(&server, 20);
    server.signal(Signal::QUIT);
    assert!(server.ended());
    // A symbolic link instead of a file is not followed: opening it fails for every user.
    for number in 0..20 {
        let path = file_of(&server, &format!("/{number}"));
        let aside = server.path(&format!("aside-{number}"));
        fs::rename(&path, &aside).expect("a file");
        std::os::unix::fs::symlink(&aside, &path).expect("a link");
    }
    server.start_again();
    for number in 0..20 {
        let answer = server.get(&format!("/{number}"));
        assert_eq!((answer.status, answer.cache()), (200, "MISS"));
        assert_eq!(server.get(&format!("/{number}")).cache(), "HIT");
    }
    assert_eq!(origin.count(), 40);
    server.log_has("further failures are not logged until the disk works again");
    assert_eq!(server.read("error.log").matches("until the disk works again").count(), 1);
    wait_for_files(&server, 20);
}

#[test]
fn body_too_large_for_memory_is_stored_on_disk_and_served_in_ranges() {
    const LENGTH: usize = 20 << 20;
    let (mut server, origin) = SITE.start(|call| {
        let body = noise(call.number as u64, LENGTH);
        call.answer("Content-Type: application/octet-stream", body);
    });
    let first = server.get("/film");
    assert_eq!((first.cache(), first.content() == noise(1, LENGTH)), ("MISS", true));
    wait_for("a hit", || server.get("/film").cache() == "HIT");
    let fetched = origin.count();
    let page = noise(fetched as u64, LENGTH);
    server.restart(Signal::QUIT);
    let whole = server.get("/film");
    assert_eq!((whole.cache(), whole.content() == page), ("HIT", true));
    for (from, to) in [(0, 0), (5, 300_000), (LENGTH / 2, LENGTH / 2 + 1_000_000), (LENGTH - 1, LENGTH - 1)] {
        let part = server.fetch(&Request::get("/film").field("Range", &format!("bytes={from}-{to}")));
        assert_eq!((part.status, part.cache()), (206, "HIT"));
        assert!(part.content() == page[from..=to], "{from}-{to}");
    }
    let head = server.fetch(&Request::new("HEAD", "/film"));
    assert_eq!(head.field("Content-Length"), Some(LENGTH.to_string().as_str()));
    let tag = whole.field("ETag").expect("a tag").to_owned();
    assert_eq!(server.fetch(&Request::get("/film").field("If-None-Match", &tag)).status, 304);
    // The page is not in memory, so that its file is missed immediately.
    fs::remove_file(file_of(&server, "/film")).expect("the file");
    assert_eq!(server.get("/film").cache(), "MISS");
    assert_eq!(origin.count(), fetched + 1);
}
