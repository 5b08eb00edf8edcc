//! Tests of files that root writes to the folder of a site, in which the user of PHP could have left links.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown, symlink};
use std::path::Path;

use super::site_with_wordpress;
use crate::support::{ServerSite, myriad, stderr};

/// Owner of the site, and of another site.
const TENANT: u32 = 54_321;
const OTHER: u32 = 54_322;

/// Creates a site whose `wp-content` belongs to its tenant; `None` if the tests do not run as root.
fn site_of_tenant() -> Option<ServerSite> {
    let site = site_with_wordpress();
    for folder in ["html/wp-content", "other", "of-root"] {
        fs::create_dir_all(site.path(folder)).expect("folders");
    }
    let given = give(&site.path("html"), TENANT)
        && give(&site.path("html/wp-content"), TENANT)
        && give(&site.path("other"), OTHER);
    if !given {
        eprintln!("skipped: this test requires root");
    }
    given.then_some(site)
}

fn give(path: &Path, owner: u32) -> bool {
    lchown(path, Some(owner), Some(owner)).is_ok()
}

/// Replaces a path with a link of the tenant.
fn link(site: &ServerSite, target: &str, path: &str) {
    let path = site.path(path);
    let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
    symlink(site.path(target), &path).expect("a link");
    assert!(give(&path, TENANT));
}

fn run(site: &ServerSite, option: &[&str]) -> Result<(), String> {
    let mut command = myriad();
    command.args(["wordpress", "--root"]).arg(site.path("html")).arg("--prefix").arg(site.path("prefix"));
    let output = command.args(option).output().expect("a run");
    if output.status.success() { Ok(()) } else { Err(stderr(&output)) }
}

fn entries(site: &ServerSite, folder: &str) -> usize {
    fs::read_dir(site.path(folder)).expect("a folder").count()
}

const WRITES: [&[&str]; 3] =
    [&["--install-plugin"], &["--install-plugin", "--must-use"], &["--install-object-cache", "apcu"]];

#[test]
fn files_that_are_installed_belong_to_the_owner_of_the_folder_and_go_again() {
    let Some(site) = site_of_tenant() else { return };
    for option in WRITES {
        run(&site, option).expect("installed");
    }
    for file in [
        "plugins/myriad-cache/connection.php",
        "mu-plugins/myriad-cache.php",
        "object-cache.php",
        "myriad-object-cache",
    ] {
        let known = fs::symlink_metadata(site.path("html/wp-content").join(file)).expect(file);
        assert_eq!((known.uid(), known.gid()), (TENANT, TENANT), "{file}");
    }
    run(&site, &["--remove-object-cache"]).expect("removed");
    assert_eq!(entries(&site, "html/wp-content"), 2);
    // Releases share folders by links of their owner.
    fs::create_dir(site.path("shared")).expect("a folder");
    assert!(give(&site.path("shared"), TENANT));
    link(&site, "shared", "html/wp-content/plugins");
    run(&site, &["--install-plugin"]).expect("installed");
    assert!(site.path("shared/myriad-cache/myriad-cache.php").is_file());
}

#[test]
fn root_writes_and_removes_nothing_through_links_of_site() {
    let Some(site) = site_of_tenant() else { return };
    site.write("other/object-cache.php", "<?php // @package Myriad_Object_Cache");
    site.write("of-root/object-cache.php", "<?php // @package Myriad_Object_Cache");
    let untouched = || (entries(&site, "other"), entries(&site, "of-root")) == (1, 1);
    // The content folder is a link to a folder of root, or of another site.
    for target in ["of-root", "other"] {
        link(&site, target, "html/wp-content");
        for option in WRITES.into_iter().chain([&["--remove-object-cache"][..]]) {
            let error = run(&site, option).expect_err("refused");
            assert!(
                error.contains("a symbolic link to a folder of another owner is not followed"),
                "{error}"
            );
            assert!(untouched(), "{option:?} by {target}");
        }
    }
    // A folder in it is such a link.
    for target in ["of-root", "other"] {
        fs::remove_file(site.path("html/wp-content")).expect("the link");
        fs::create_dir(site.path("html/wp-content")).expect("a folder");
        assert!(give(&site.path("html/wp-content"), TENANT));
        for (folder, option) in ["plugins", "mu-plugins", "myriad-object-cache"].into_iter().zip(WRITES) {
            link(&site, target, &format!("html/wp-content/{folder}"));
            run(&site, option).expect_err(folder);
            assert!(untouched(), "{folder} to {target}");
        }
        let _ = fs::remove_file(site.path("html/wp-content/object-cache.php"));
        run(&site, &["--remove-object-cache"]).expect_err("a link in place of the folder");
        assert!(untouched());
        fs::remove_dir_all(site.path("html/wp-content")).expect("removed");
        link(&site, target, "html/wp-content");
    }
}

#[test]
fn root_writes_nothing_to_a_content_folder_of_another_owner_outside_the_site() {
    let Some(site) = site_of_tenant() else { return };
    fs::create_dir(site.path("shared")).expect("a folder");
    assert!(give(&site.path("shared"), TENANT));
    symlink(site.path("shared"), site.path("link")).expect("a link");
    assert!(give(&site.path("link"), OTHER));
    for (folder, part) in [
        ("of-root", "is outside of the site and owned by root, while the site is owned by 54321"),
        ("other", "is outside of the site and owned by 54322, while the site is owned by 54321"),
        ("link", "a symbolic link owned by 54322"),
    ] {
        let path = site.path(folder);
        site.write("html/wp-config.php", &format!("<?php define('WP_CONTENT_DIR', '{}');", path.display()));
        for option in WRITES.into_iter().chain([&["--remove-object-cache"][..]]) {
            let told = run(&site, option).expect_err("refused");
            assert!(told.contains(part) && told.contains(option[0]), "{told}");
            assert_eq!(entries(&site, folder), 0, "{option:?}");
        }
    }
    let path = site.path("shared");
    site.write("html/wp-config.php", &format!("<?php define('WP_CONTENT_DIR', '{}');", path.display()));
    run(&site, &["--install-plugin"]).expect("installed");
    assert_eq!(fs::metadata(path.join("plugins/myriad-cache")).expect("the plugin").uid(), TENANT);
}

#[test]
fn folder_of_root_is_written_to_where_no_link_leads_there() {
    let Some(site) = site_of_tenant() else { return };
    assert!(give(&site.path("html/wp-content"), 0));
    run(&site, &["--install-plugin"]).expect("installed");
    assert_eq!(entries(&site, "html/wp-content"), 1);
    // A link of root that the tenant has moved there.
    fs::remove_dir_all(site.path("html/wp-content")).expect("removed");
    symlink(site.path("of-root"), site.path("html/wp-content")).expect("a link");
    run(&site, &["--install-plugin"]).expect_err("refused");
    assert_eq!(entries(&site, "of-root"), 0);
}
