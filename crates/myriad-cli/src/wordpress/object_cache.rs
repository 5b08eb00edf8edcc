//! Object cache of WordPress: its drop-in, and the address of its server.
//!
//! ```text
//! --install-object-cache ADDRESS -> wp-content/myriad-object-cache/                 files of the drop-in
//!                                -> wp-content/myriad-object-cache/connection.php   address, and salt of the site
//!                                -> wp-content/object-cache.php                     loaded by WordPress
//! --remove-object-cache          -> removes all of these, object-cache.php first
//! ```

use std::io;

use super::checked_site::content_of;
use super::object_cache_change::ObjectCacheChange;
use super::options::SiteOptions;
use super::site_files::{WritableFolder, as_owner, random};

/// Lists files of the drop-in, which are built into the binary.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../wordpress/object-cache/myriad-object-cache/", $name)))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "functions.php",
    "class-wp-object-cache.php",
    "class-myriad-object-cache-apcu.php",
    "class-myriad-object-cache-connection.php",
    "class-myriad-object-cache-memcached.php",
    "class-myriad-object-cache-pool.php",
    "class-myriad-object-cache-redis.php",
    "class-myriad-object-cache-values.php",
    "interface-myriad-object-cache-store.php",
];

/// Contents of `object-cache.php`, which WordPress loads.
const DROP_IN: &str = include_str!("../../../../wordpress/object-cache/object-cache.php");
/// Name of the file that WordPress loads, below `wp-content`.
const DROP_IN_NAME: &str = "object-cache.php";
/// Text by which this drop-in is distinguished from those of other plugins.
const OURS: &str = "@package Myriad_Object_Cache";
/// Names of files in the drop-in's folder besides [`FILES`]: the connection, and a marker of the last outage.
const MORE: [&str; 2] = ["connection.php", "outage"];
/// Name of the drop-in's folder, below `wp-content`.
const FOLDER: &str = "myriad-object-cache";
/// Length of a salt, in bytes.
const SALT_BYTES: usize = 8;

impl SiteOptions {
    /// Installs or removes the object cache in the folders of the sites. Returns a description of the changes, one line
    /// each.
    ///
    /// # Errors
    /// Returns an error text with the folder that cannot be written and a remedy, or with the drop-in of another plugin
    /// that already exists.
    pub(super) fn change_object_cache(&self, change: &ObjectCacheChange) -> Result<Vec<String>, String> {
        let option = change.option();
        let mut done = Vec::new();
        for (root, _) in self.roots()? {
            let content = content_of(option, self.source_of_roots(), &root)?;
            let file = content.0.join(DROP_IN_NAME);
            let foreign = as_owner(option, &content, is_foreign)?;
            if foreign {
                return Err(format!(
                    "wordpress: {option}: {} belongs to another plugin: disable its object cache first",
                    file.display()
                ));
            }
            if let ObjectCacheChange::Install(address) = change {
                let salt = random::<SALT_BYTES>(option)?;
                as_owner(option, &content, |content| write(content, &connection(address, &salt)))?;
                done.push(format!("the object cache was installed as {}", file.display()));
            } else {
                as_owner(option, &content, remove)?;
                done.push(format!("{} has no object cache of Myriad now", content.0.display()));
            }
        }
        Ok(done)
    }
}

/// Returns whether WordPress loads the object cache of another plugin; false if there is no `object-cache.php`. Also
/// returns true if the file cannot be read, for example because it is not a regular one. Returns an error if permission
/// is denied.
fn is_foreign(content: &WritableFolder) -> io::Result<bool> {
    match content.text(DROP_IN_NAME) {
        Ok(text) => Ok(text.is_some_and(|text| !text.contains(OURS))),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        Err(_) => Ok(true),
    }
}

/// Returns the PHP file with the address of the server and the salt of the site.
fn connection(address: &str, salt: &str) -> String {
    format!(
        "<?php\n// Written by myriad wordpress --install-object-cache: address of the server, and prefix of this site's keys.\n\
         return array(\n\t'address' => '{address}',\n\t'salt'    => '{salt}',\n);\n"
    )
}

/// Writes the files of the object cache; `object-cache.php`, which WordPress loads, is written last.
fn write(content: &WritableFolder, connection: &str) -> io::Result<()> {
    let folder = content.make_folder(FOLDER)?;
    for (name, text) in FILES {
        folder.replace(name, text, 0o644)?;
    }
    folder.replace("connection.php", connection, 0o640)?;
    content.replace(DROP_IN_NAME, DROP_IN, 0o644)
}

/// Removes the files of the object cache; `object-cache.php`, which WordPress loads, is removed first. The folder
/// remains if it contains other files.
fn remove(content: &WritableFolder) -> io::Result<()> {
    content.remove(DROP_IN_NAME)?;
    let folder = match content.folder(FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        folder => folder?,
    };
    for name in FILES.iter().map(|(name, _)| *name).chain(MORE) {
        folder.remove(name)?;
    }
    content.remove_folder(FOLDER)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn files_of_the_drop_in_are_all_that_the_repository_has() {
        let top =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wordpress/object-cache/myriad-object-cache");
        let files = fs::read_dir(top).expect("folder").map(|file| file.expect("an entry").file_name());
        let mut found: Vec<_> = files.map(|name| name.into_string().expect("a name")).collect();
        let mut known: Vec<_> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        found.sort();
        known.sort();
        assert_eq!(known, found);
    }

    #[test]
    fn object_cache_comes_and_goes_and_another_one_stays() {
        let top = std::env::temp_dir().join(format!("myriad-object-cache-{}", std::process::id()));
        let content = top.join("wp-content");
        for folder in ["wp-includes", "wp-content"] {
            fs::create_dir_all(top.join(folder)).expect("folder");
        }
        fs::write(top.join("index.php"), "<?php").expect("index");
        let options = SiteOptions { root: top.clone(), ..SiteOptions::default() };
        let install = ObjectCacheChange::install("redis:/run/r.sock".to_owned()).expect("an address");
        options.change_object_cache(&install).expect("installed");
        assert!(content.join("object-cache.php").is_file());
        let connection =
            fs::read_to_string(content.join("myriad-object-cache/connection.php")).expect("file");
        assert!(connection.contains("'redis:/run/r.sock'"), "{connection}");
        fs::write(content.join("myriad-object-cache/outage"), "").expect("outage");
        options.change_object_cache(&ObjectCacheChange::Remove).expect("removed");
        options.change_object_cache(&ObjectCacheChange::Remove).expect("removed twice");
        assert_eq!(fs::read_dir(&content).expect("folder").count(), 0);
        fs::write(content.join("object-cache.php"), "<?php // of another").expect("file");
        for change in [install, ObjectCacheChange::Remove] {
            assert!(options.change_object_cache(&change).expect_err("refused").contains("another plugin"));
        }
        fs::remove_dir_all(&top).expect("clean");
    }
}
