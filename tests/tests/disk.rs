//! The disk tier of the page cache: restarts, removed files, limits, trouble.

use std::fs;
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use myriad_tests::{
    Cached, Call, Client, Origin, Place, Request, Server, Signal, kill_rounds, noise, wait_for,
};

/// A page that says how many there were before it.
fn numbered(call: &mut Call) {
    let text = format!("page {}", call.number);
    call.answer("Content-Type: text/plain", text);
}

const SITE: Cached<'static> = Cached {
    main: "",
    http: "",
    zone: "levels=1:2",
    key: "$scheme$request_method$host$request_uri",
    server: "fastcgi_cache_valid 200 1h;",
};

/// The files in a zone's folder, its own hidden ones aside.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn wait_for_files(server: &Server, count: usize) {
    wait_for(&format!("{count} files"), || files(&server.path("cache")).len() == count);
}

/// The name that nginx gives to the page of a target.
fn file_of(server: &Server, target: &str) -> PathBuf {
    use md5::{Digest, Md5};
    let digest = Md5::digest(format!("httpGETlocalhost{target}"));
    let name = digest.iter().fold(String::new(), |name, byte| format!("{name}{byte:02x}"));
    server.path("cache").join(&name[31..]).join(&name[29..31]).join(name)
}

#[test]
fn a_restart_serves_its_pages_with_the_origin_down() {
    for end in [Signal::QUIT, Signal::TERM, Signal::KILL] {
        let (mut server, origin) = SITE.start(numbered);
        assert_eq!(server.get("/a").text(), "page 1");
        assert_eq!(server.get("/b").text(), "page 2");
        wait_for_files(&server, 2);
        drop(origin);
        server.restart(end);
        for (target, text) in [("/a", "page 1"), ("/b", "page 2"), ("/a", "page 1")] {
            let answer = server.get(target);
            assert_eq!((answer.cache(), answer.text().as_str()), ("HIT", text), "after {end:?}");
        }
        assert_eq!(server.get("/c").status, 502);
    }
}

#[test]
fn a_stop_leaves_a_catalogue_so_that_the_next_start_need_not_open_every_file() {
    for end in [Signal::QUIT, Signal::TERM] {
        let (mut server, _origin) = SITE.start(numbered);
        server.get("/a");
        wait_for_files(&server, 1);
        let catalogue = server.path("cache/.catalogue");
        assert!(!catalogue.exists());
        server.restart_after(end, || assert!(catalogue.exists(), "after {end:?}"));
    }
}

#[test]
fn files_have_nginx_s_names_and_go_with_a_person_who_removes_them() {
    let (server, origin) = SITE.start(numbered);
    for target in ["/a", "/b", "/c"] {
        assert_eq!(server.get(target).cache(), "MISS");
        assert_eq!(server.get(target).cache(), "HIT");
    }
    wait_for_files(&server, 3);
    // As plugins do, which know the key.
    fs::remove_file(file_of(&server, "/a")).expect("the file of /a");
    wait_for("a page that is gone", || server.get("/a").text() == "page 4");
    assert_eq!((server.get("/b").cache(), server.get("/c").cache()), ("HIT", "HIT"));
    wait_for_files(&server, 3);
    // As people do: rm -rf cache/*
    for entry in fs::read_dir(server.path("cache")).expect("the folder").flatten() {
        if !entry.file_name().to_string_lossy().starts_with('.') {
            fs::remove_dir_all(entry.path()).expect("rm -rf");
        }
    }
    wait_for("pages that are gone", || {
        origin.count() >= 7 || {
            for target in ["/a", "/b", "/c"] {
                drop(server.get(target));
            }
            false
        }
    });
    wait_for_files(&server, 3);
    assert_eq!(server.get("/a").cache(), "HIT");
}

/// Where the server was started by root its worker may not make the folder.
#[test]
fn the_folder_itself_may_be_removed_too() {
    let site = Cached { server: "fastcgi_cache_valid 1h; fastcgi_cache_purge on;", ..SITE };
    let (server, _origin) = site.start(numbered);
    // While writing rests, pages are in memory alone.
    let on_disk = || {
        drop((server.fetch(&Request::new("PURGE", "/a")), server.get("/a")));
        !files(&server.path("cache")).is_empty()
    };
    for _ in 0..2 {
        wait_for("a file", on_disk);
        assert_eq!(server.get("/a").cache(), "HIT");
        // The server may be putting something into it.
        wait_for("rm -rf", || match fs::remove_dir_all(server.path("cache")) {
            Ok(()) => true,
            Err(error) => error.kind() == ErrorKind::NotFound,
        });
        wait_for("a page that is gone", || server.fetch(&Request::new("PURGE", "/a")).status == 412);
        wait_for("the folder", || server.path("cache/.sequence").exists());
        assert_eq!(server.fetch(&Request::new("PURGE", "/a")).status, 412);
    }
    server.log_has("was removed, with all its pages");
    // As designed it is made a moment later, by whoever may. (What was under way with files in it may have failed.)
    assert!(!server.read("error.log").contains("Permission denied"), "{}", server.read("error.log"));
    wait_for("a file", on_disk);
    assert_eq!(server.fetch(&Request::new("PURGE", "/a")).status, 200);
}

/// As people clear a large cache without waiting for `rm`.
#[test]
fn another_folder_may_be_put_into_the_place_of_the_first() {
    let site = Cached { server: "fastcgi_cache_valid 1h; fastcgi_cache_purge on;", ..SITE };
    let (server, _origin) = site.start(numbered);
    let (folder, moved) = (server.path("cache"), server.path("moved"));
    let owner = fs::metadata(&folder).expect("the folder");
    let is_gone = || server.get("/a").cache() == "MISS";
    assert_eq!(server.get("/a").cache(), "MISS");
    wait_for("a file", || !files(&folder).is_empty());
    fs::rename(&folder, &moved).expect("mv");
    fs::create_dir(&folder).expect("mkdir");
    // Where root did that, whoever serves could not write there.
    std::os::unix::fs::chown(&folder, Some(owner.uid()), Some(owner.gid())).expect("chown");
    wait_for("a page that is gone", is_gone);
    wait_for("a file in the new folder", || {
        server.get("/a");
        !files(&folder).is_empty()
    });
    for file in files(&folder) {
        fs::remove_file(file).expect("rm");
    }
    wait_for("a page that is gone", is_gone);
}

/// By whoever starts the server: where that is root, the worker is somebody else.
#[test]
fn a_folder_that_somebody_made_before_the_first_start_is_used() {
    let place = Place::new();
    let folder = place.path("cache");
    fs::create_dir(&folder).expect("mkdir");
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).expect("chmod");
    let origin = Origin::start(numbered);
    let site = Cached { server: "fastcgi_cache_valid 1h; fastcgi_cache_purge on;", ..SITE };
    let server = site.start_before(place, &origin.address);
    assert_eq!(server.get("/a").cache(), "MISS");
    wait_for_files(&server, 1);
    assert_eq!(server.fetch(&Request::new("PURGE", "/a")).status, 200);
    assert!(!server.read("error.log").contains("[crit]"), "{}", server.read("error.log"));
}

/// Whoever can change a link could have any folder handed over.
#[test]
fn a_folder_behind_a_link_keeps_its_owner() {
    let place = Place::new();
    let folder = place.path("elsewhere");
    fs::create_dir(&folder).expect("mkdir");
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).expect("chmod");
    std::os::unix::fs::symlink(&folder, place.path("cache")).expect("a link");
    let owner = |path: &Path| fs::metadata(path).expect("a folder").uid();
    let before = owner(&folder);
    let origin = Origin::start(numbered);
    let server = SITE.start_before(place, &origin.address);
    assert_eq!(server.get("/a").status, 200);
    assert_eq!(owner(&folder), before);
}

/// Where the tests' user is root, who alone makes folders for others.
#[test]
fn a_folder_that_root_does_not_make_is_told_of() {
    let place = Place::new();
    let disk = place.path("disk");
    fs::create_dir(&disk).expect("mkdir");
    if fs::metadata(&disk).expect("a folder").uid() != 0 {
        return;
    }
    fs::create_dir(place.path("elsewhere")).expect("mkdir");
    std::os::unix::fs::symlink(place.path("elsewhere"), disk.join("link")).expect("a link");
    std::os::unix::fs::chown(&disk, Some(54_321), None).expect("chown");
    let origin = Origin::start(numbered);
    let site = Cached { http: "fastcgi_cache_path @DIR@/disk/link/zone keys_zone=left:1m;", ..SITE };
    let server = site.start_before(place, &origin.address);
    assert_eq!(server.get("/a").status, 200);
    server.log_has("disk/link/zone\" is left to the workers to make");
    assert_eq!(fs::read_dir(server.path("elsewhere")).expect("a folder").count(), 0);
}

#[test]
fn what_was_removed_while_the_server_was_stopped_is_gone() {
    let (mut server, _origin) = SITE.start(numbered);
    server.get("/a");
    server.get("/b");
    wait_for_files(&server, 2);
    fs::remove_file(file_of(&server, "/a")).expect("the file of /a");
    server.restart(Signal::KILL);
    assert_eq!((server.get("/b").cache(), server.get("/a").cache()), ("HIT", "MISS"));
}

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
fn a_damaged_or_foreign_file_is_set_aside_and_never_served() {
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
    server.log_has("is set aside");
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
    // A file where the folder for what is being written should be stands in the way of root too.
    let aside = server.path("cache/.tmp");
    fs::remove_dir_all(&aside).ok();
    fs::write(&aside, b"").expect("a file in the way");
    for number in 0..50 {
        server.get(&format!("/{number}"));
        assert_eq!(server.get(&format!("/{number}")).cache(), "HIT");
    }
    server.log_has("pages are kept in memory alone meanwhile");
    assert_eq!(server.read("error.log").matches("pages are kept in memory alone").count(), 1);
    assert!(files(&server.path("cache")).is_empty());
    fs::remove_file(&aside).expect("out of the way");
    let mut number = 50;
    wait_for("pages that are kept on disk again", || {
        number += 1;
        server.get(&format!("/{number}"));
        !files(&server.path("cache")).is_empty()
    });
    server.log_has("pages are kept on disk again");
}

/// A small file system of its own; gone with the value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one, where the tests' user may, and has `link` lead to it.
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
fn a_full_disk_is_served_around_told_of_once_and_used_again_when_it_has_room() {
    let place = Place::new();
    let folder = place.path("cache");
    // Without the right to mount there is no full disk to be had; the store's own tests have it fail at each step.
    let Some(_disk) = SmallDisk::mount(&folder) else { return };
    let filler = folder.join("filler");
    let origin = Origin::start(|call| {
        let text = format!("{} ", call.number).repeat(500);
        call.answer("Content-Type: application/octet-stream", text);
    });
    let mut server = SITE.start_before(place, &origin.address);
    assert_eq!(server.get("/before").cache(), "MISS");
    wait_for_files(&server, 1);
    // Written till there is no room for a byte more.
    let _ = fs::write(&filler, vec![0; 1 << 20]);
    for number in 0..300 {
        let target = format!("/{number}");
        assert_eq!((server.get(&target).status, server.get(&target).cache()), (200, "HIT"));
    }
    server.log_has("No space left on device");
    let lines = server.read("error.log").lines().count();
    assert_eq!(server.read("error.log").matches("No space left on device").count(), 1);
    assert_eq!(server.get("/before").cache(), "HIT");
    fs::remove_file(&filler).expect("room again");
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
    // A file that is a link is not followed: the system refuses to open it, whoever asks.
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
    server.log_has("pages are kept in memory alone meanwhile");
    assert_eq!(server.read("error.log").matches("pages are kept in memory alone").count(), 1);
    wait_for_files(&server, 20);
}

#[test]
fn a_body_too_long_for_memory_is_kept_on_disk_and_served_in_parts() {
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
    // Memory holds none of it, so that its file is missed at once.
    fs::remove_file(file_of(&server, "/film")).expect("the file");
    assert_eq!(server.get("/film").cache(), "MISS");
    assert_eq!(origin.count(), fetched + 1);
}

#[test]
fn killed_at_any_moment_it_serves_no_corrupt_or_mixed_page() {
    let site = Cached { server: "fastcgi_cache_valid 200 1h; fastcgi_cache_bypass $arg_new;", ..SITE };
    let site = Cached { key: "$scheme$request_method$host$uri", ..site };
    let (mut server, _origin) = site.start(|call| {
        // Every byte of a page follows from its number, which it begins with.
        let length = 100 + call.number * 7919 % 200_000;
        let mut page = (call.number as u64).to_le_bytes().to_vec();
        page.extend(noise(call.number as u64, length));
        call.answer("Content-Type: application/octet-stream", page);
    });
    let is_whole = |page: &[u8]| {
        let Some((number, rest)) = page.split_first_chunk::<8>() else { return false };
        let number = u64::from_le_bytes(*number);
        rest == noise(number, 100 + number as usize * 7919 % 200_000)
    };
    let mut hits = 0;
    for round in 0..kill_rounds() {
        let port = server.port;
        // Four visitors who fill and refresh pages until the server is struck.
        let visitors: Vec<_> = (0..4_u64)
            .map(|visitor| {
                std::thread::spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(round as u64 * 4 + visitor);
                    loop {
                        let target = format!("/{}?new={}", rng.u8(..30), u8::from(rng.bool()));
                        let asked = std::panic::catch_unwind(|| {
                            myriad_tests::Client::connect(port).fetch(&Request::get(&target)).status
                        });
                        if asked.is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        let until = fastrand::Rng::with_seed(round as u64).usize(1..60);
        wait_for("pages to be written", || files(&server.path("cache")).len() >= until.min(25));
        server.restart_after(Signal::KILL, || {
            for visitor in visitors {
                visitor.join().expect("a visitor");
            }
        });
        for number in 0..30 {
            let answer = server.get(&format!("/{number}"));
            assert_eq!(answer.status, 200);
            hits += usize::from(answer.cache() == "HIT");
            assert!(is_whole(&answer.content()), "round {round}, page {number}: {}", answer.cache());
        }
    }
    assert!(hits > kill_rounds() * 5, "only {hits} pages outlived the kills");
}

/// A server whose binary is being upgraded: a client of the old process, one of the new, and the pid of the new supervisor.
fn upgrade(server: &Server) -> (Client, Client, u32) {
    let supervisor = |file: &str| server.read(file).trim().parse::<u32>().ok();
    let pid = |client: &mut Client| client.fetch(&Request::get("/")).field("X-Pid").map(str::to_owned);
    let before = supervisor("myriad.pid");
    let mut old = server.connect();
    let old_pid = pid(&mut old);
    server.signal(Signal::USR2);
    let mut after = None;
    wait_for("both pid files", || {
        after = supervisor("myriad.pid").filter(|pid| Some(*pid) != before);
        after.is_some() && supervisor("myriad.pid.oldbin").is_some()
    });
    let mut new = server.connect();
    wait_for("the new process", || {
        new = server.connect();
        pid(&mut new) != old_pid
    });
    (old, new, after.expect("waited for"))
}

#[test]
fn during_an_upgrade_the_new_process_writes_and_where_it_ends_first_the_old_one_again() {
    let rules = "fastcgi_cache_valid 1h; add_header X-Pid $pid always;";
    let (server, _origin) = Cached { server: rules, ..SITE }.start(numbered);
    server.get("/");
    wait_for_files(&server, 1);
    let (mut old, mut new, pid) = upgrade(&server);
    wait_for("the folder to be known to the new one", || {
        server.read("error.log").matches(" known after ").count() == 2
    });
    old.fetch(&Request::get("/of-the-old"));
    new.fetch(&Request::get("/of-the-new"));
    wait_for_files(&server, 2);
    assert!(file_of(&server, "/of-the-new").exists() && !file_of(&server, "/of-the-old").exists());
    // A rollback.
    drop(new);
    myriad_tests::signal(pid, Signal::TERM);
    wait_for("the old process alone", || !server.path("myriad.pid.oldbin").exists());
    let mut number = 0;
    wait_for("the old one to write again", || {
        number += 1;
        old.fetch(&Request::get(&format!("/again{number}")));
        (1..=number).any(|number| file_of(&server, &format!("/again{number}")).exists())
    });
    assert!(!file_of(&server, "/of-the-new").exists(), "the old one knows nothing of it");
    let kept = old.fetch(&Request::get("/of-the-old"));
    assert_eq!(kept.cache(), "HIT");
}
