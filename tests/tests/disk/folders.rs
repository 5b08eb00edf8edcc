//! Folder of a zone and its files: names, owners, removal by other programs.

use std::fs;
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use myriad_tests::{Cached, Origin, Place, Request, wait_for};

use super::{SITE, file_of, files, numbered, wait_for_files};

#[test]
fn cache_files_have_names_of_nginx_and_manual_removal_removes_pages() {
    let (server, origin) = SITE.start(numbered);
    for target in ["/a", "/b", "/c"] {
        assert_eq!(server.get(target).cache(), "MISS");
        assert_eq!(server.get(target).cache(), "HIT");
    }
    wait_for_files(&server, 3);
    // Like plugins that know the key.
    fs::remove_file(file_of(&server, "/a")).expect("the file of /a");
    wait_for("a page that is gone", || server.get("/a").text() == "page 4");
    assert_eq!((server.get("/b").cache(), server.get("/c").cache()), ("HIT", "HIT"));
    wait_for_files(&server, 3);
    // Like an administrator: rm -rf cache/*
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

/// If root started the server, its worker may not create the folder.
#[test]
fn the_folder_itself_may_be_removed_too() {
    let site = Cached { server: "fastcgi_cache_valid 1h; fastcgi_cache_purge on;", ..SITE };
    let (server, _origin) = site.start(numbered);
    // While writing is suspended, pages are only in memory.
    let on_disk = || {
        drop((server.fetch(&Request::new("PURGE", "/a")), server.get("/a")));
        !files(&server.path("cache")).is_empty()
    };
    for _ in 0..2 {
        wait_for("a file", on_disk);
        assert_eq!(server.get("/a").cache(), "HIT");
        // The server may be creating a file in it.
        wait_for("rm -rf", || match fs::remove_dir_all(server.path("cache")) {
            Ok(()) => true,
            Err(error) => error.kind() == ErrorKind::NotFound,
        });
        wait_for("a page that is gone", || server.fetch(&Request::new("PURGE", "/a")).status == 412);
        wait_for("the folder", || server.path("cache/.sequence").exists());
        assert_eq!(server.fetch(&Request::new("PURGE", "/a")).status, 412);
    }
    server.log_has("was removed with all its pages");
    // The process with sufficient privileges recreates the folder a moment later. Operations in progress may have
    // failed.
    assert!(!server.read("error.log").contains("Permission denied"), "{}", server.read("error.log"));
    wait_for("a file", on_disk);
    assert_eq!(server.fetch(&Request::new("PURGE", "/a")).status, 200);
}

/// Administrators clear a large cache in this way without waiting for `rm`.
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
    // If root created the folder, the worker could not write to it.
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

/// The folder belongs to the user who starts the server: if that is root, the worker runs as another user.
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

/// Otherwise a user who can change a link could have any folder chowned.
#[test]
fn folder_reached_through_link_retains_its_owner() {
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

/// Applies only if the tests run as root, because only root creates folders for other users.
#[test]
fn folder_that_root_does_not_create_is_reported() {
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
    server.log_has("disk/link/zone\" will be created by the worker processes");
    assert_eq!(fs::read_dir(server.path("elsewhere")).expect("a folder").count(), 0);
}
