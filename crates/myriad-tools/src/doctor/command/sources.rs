//! Search in the files of plugins and themes for names of cookies, and for code that prevents caching.

use std::collections::BTreeSet;
use std::path::Path;

use crate::doctor::CookieSource;

use myriad_cli::site_folder::SiteFolder;

/// Maximum number of `.php` and `.js` files that are searched.
const FILES: usize = 60_000;
const MAX_FOLDERS: usize = 20_000;
const FILE_BYTES: u64 = 4 << 20;
/// Folders of `wp-content` that contain code.
const FOLDERS: [&str; 3] = ["plugins", "mu-plugins", "themes"];
/// Texts in the code of plugins that indicate that they prevent caching of pages.
const UNCACHING: [&str; 3] = ["DONOTCACHEPAGE", "nocache_headers", "session_start"];
/// Function that starts a PHP session. The name of the session's cookie does not occur in the plugin.
const SESSION: &str = "session_start";
/// Texts by which PHP code sets a cookie.
const SETTERS: [&str; 3] = ["setcookie", "setrawcookie", "Set-Cookie:"];
/// Plugins that contain texts of [`UNCACHING`] but do not prevent caching of public pages.
const INNOCENT: [&str; 1] = ["myriad-cache"];

/// Searches the code in the folder `content` for names of cookies, and if `searches_reasons` for texts of
/// [`UNCACHING`]. `active` are the active plugins and themes; `None` searches all. Must-use plugins are always
/// searched. Returns the sources of each cookie, and the plugins (except [`INNOCENT`] ones) that contain texts of
/// [`UNCACHING`].
pub(super) fn find_sources(
    content: &Path,
    active: Option<&[String]>,
    cookies: &[String],
    searches_reasons: bool,
) -> (Vec<CookieSource>, Vec<String>) {
    let stems: Vec<&str> = cookies.iter().map(|name| stem(name)).collect();
    let mut places: Vec<BTreeSet<String>> = vec![BTreeSet::new(); cookies.len()];
    let (mut sessions, mut setters) = (BTreeSet::new(), BTreeSet::new());
    let mut uncaching = BTreeSet::new();
    if cookies.is_empty() && !searches_reasons {
        return (Vec::new(), Vec::new());
    }
    each_text(content, active, |place, text| {
        for (found, stem) in places.iter_mut().zip(&stems) {
            if is_quoted_in(text, stem) {
                found.insert(place.clone());
            }
        }
        let is_innocent = INNOCENT.iter().any(|name| place.ends_with(name));
        if !is_innocent && text.contains(SESSION) {
            sessions.insert(place.clone());
        }
        if !is_innocent && SETTERS.iter().any(|setter| text.contains(setter)) {
            setters.insert(place.clone());
        }
        let is_innocent = is_innocent || place.starts_with("themes/");
        if searches_reasons && !is_innocent && UNCACHING.iter().any(|word| text.contains(word)) {
            uncaching.insert(place);
        }
    });
    let sources = cookies.iter().zip(places);
    let sources = sources.map(|(cookie, places)| {
        let is_session = places.is_empty() && is_session(cookie) && !sessions.is_empty();
        let places: Vec<_> = if is_session { &sessions } else { &places }.iter().cloned().collect();
        let setters = if places.is_empty() { setters.iter().cloned().collect() } else { Vec::new() };
        CookieSource { cookie: cookie.clone(), places, setters }
    });
    (sources.collect(), uncaching.into_iter().collect())
}

/// Returns whether a cookie probably belongs to a PHP session: its name contains `sess` or is `sid`, in any case.
fn is_session(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("sess") || name == "sid"
}

/// Returns the name of a cookie without `_` and a hash of at least 8 hexadecimal digits at its end; the whole name if
/// there is no such hash, or at most 3 bytes precede it. Plugins compose names such as
/// `woocommerce_cart_0123456789abcdef` from a prefix and a variable.
fn stem(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((stem, hash))
            if hash.len() >= 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) && stem.len() > 3 =>
        {
            stem
        }
        _ => name,
    }
}

/// Returns whether the text contains a quoted string that starts with `name`.
fn is_quoted_in(text: &str, name: &str) -> bool {
    !name.is_empty() && ["'", "\"", "`"].iter().any(|mark| text.contains(&format!("{mark}{name}")))
}

/// Calls `visit` with the plugin or theme (such as `plugins/shop`) and the text of each `.php` and `.js` file in it.
/// Reads only `active` plugins and themes (all for `None`), but always the must-use plugins in `content`. Reads at most
/// [`FILES`] files; skips files with more than [`FILE_BYTES`] bytes.
fn each_text(content: &Path, active: Option<&[String]>, mut visit: impl FnMut(String, &str)) {
    let site = SiteFolder::new(&std::path::absolute(content).unwrap_or_else(|_| content.to_owned()));
    let mut left = FILES;
    for folder in FOLDERS {
        let Ok(mut files) = site.files(folder, MAX_FOLDERS) else { continue };
        while let Some(file) = files.next().filter(|_| left > 0) {
            if !file.extension().is_some_and(|end| end == "php" || end == "js") {
                continue;
            }
            let place = format!("{folder}/{}", file.iter().next().unwrap_or_default().to_string_lossy());
            let is_active = |active: &[String]| folder == "mu-plugins" || active.contains(&place);
            if !active.is_none_or(is_active) {
                continue;
            }
            left -= 1;
            if let Ok(text) = files.read(&file, FILE_BYTES) {
                visit(place, &String::from_utf8_lossy(&text));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn plugin_is_named_by_the_cookie_in_its_files() {
        let content = std::env::temp_dir().join(format!("myriad-sources-{}", std::process::id()));
        for (path, text) in [
            ("plugins/counter/inc/a.php", "setcookie( 'visit_id', 1 );"),
            ("plugins/shop/b.php", "setcookie( \"cart_\" . COOKIEHASH, 1 ); define( 'DONOTCACHEPAGE', 1 );"),
            ("mu-plugins/c.php", "nothing of visit_id in quotation marks"),
            ("plugins/forms/d.php", "if ( ! session_id() ) session_start();"),
        ] {
            let path = content.join(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            fs::write(path, text).expect("file");
        }
        let (cookies, uncaching) = find_sources(
            &content,
            None,
            &["visit_id", "cart_0123456789abcdef", "none", "PHPSESSID"].map(str::to_owned),
            true,
        );
        let places: Vec<_> = cookies.iter().map(|source| source.places.join(",")).collect();
        assert_eq!(places, ["plugins/counter", "plugins/shop", "", "plugins/forms"]);
        let setters: Vec<_> = cookies.iter().map(|source| source.setters.join(",")).collect();
        assert_eq!(setters, ["", "", "plugins/counter,plugins/shop", ""]);
        assert_eq!(uncaching, ["plugins/forms", "plugins/shop"]);
        assert_eq!(find_sources(&content, None, &[], false), (Vec::new(), Vec::new()));
        // Inactive plugins set no cookies.
        let active = ["plugins/shop".to_owned()];
        let (cookies, uncaching) =
            find_sources(&content, Some(&active), &["visit_id", "PHPSESSID"].map(str::to_owned), true);
        let places: Vec<_> = cookies.iter().map(|source| source.places.join(",")).collect();
        assert_eq!((places, uncaching), (vec![String::new(); 2], vec!["plugins/shop".to_owned()]));
        fs::remove_dir_all(&content).expect("clean");
    }
}
