use std::fs;
use std::os::unix::fs::{chown, symlink};

use super::*;

/// Creates a temporary folder with these files and links, finds the layout in a folder below it, and removes
/// everything.
fn found(
    name: &str,
    files: &[(&str, &str)],
    links: &[(&str, &str)],
    from: &str,
) -> Option<(PathBuf, SiteLayout)> {
    let top = std::env::temp_dir().join(format!("myriad-layout-{name}-{}", std::process::id()));
    for (file, text) in files {
        let path = top.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    for (target, link) in links {
        symlink(target, top.join(link)).expect("a link");
    }
    let layout = SiteLayout::find(&top.join(from)).expect("a folder");
    // The values are read before the files are removed.
    let layout = layout.map(|layout| (top.clone(), layout));
    fs::remove_dir_all(&top).expect("clean");
    layout
}

#[test]
fn usual_site_has_no_notice_and_the_same_words_as_ever() {
    let files = [
        ("index.php", "<?php require __DIR__ . '/wp-blog-header.php';"),
        ("wp-includes/a.php", ""),
        ("wp-content/plugins/a.php", ""),
    ];
    let (top, layout) = found("usual", &files, &[], "").expect("WordPress");
    assert_eq!((layout.core.as_str(), layout.content.as_str()), ("", "wp-content"));
    assert_eq!(
        (layout.content_regex(), layout.configuration_path()),
        ("wp-content".to_owned(), "/wp-config.php".to_owned())
    );
    assert_eq!(layout.root, top);
}

#[test]
fn wordpress_in_its_own_folder_is_found_by_what_index_php_loads() {
    for index in [
        "<?php\n// require '/x/wp-blog-header.php';\nrequire __DIR__ . '/core/wp-blog-header.php';",
        "<?php require( './core/wp-blog-header.php' );",
        "<?php require dirname( __FILE__ ) . \"/core/wp-blog-header.php\";",
    ] {
        let files = [
            ("index.php", index),
            ("core/wp-includes/a.php", ""),
            ("core/wp-config.php", "<?php"),
            ("core/wp-content/themes/a.php", ""),
        ];
        let (_, layout) = found("own", &files, &[], "").expect("WordPress");
        assert_eq!((layout.core.as_str(), layout.content.as_str()), ("/core", "core/wp-content"), "{index}");
        assert_eq!(
            (layout.configuration_path().as_str(), layout.content_regex().as_str()),
            ("/core/wp-config.php", "wp-content")
        );
        assert!(
            layout
                .notice(Path::new("/x"))
                .expect("a notice")
                .contains("WordPress in /core, wp-content in /core/wp-content")
        );
    }
    let files =
        [("index.php", "<?php require '/core;}x/wp-blog-header.php';"), ("core;}x/wp-includes/a.php", "")];
    assert_eq!(found("unsafe", &files, &[], ""), None);
}

#[test]
fn bedrock_is_found_from_its_project_and_from_a_link_to_the_current_release() {
    let release = "releases/1/";
    let files: Vec<_> = [
        ("web/index.php", "<?php require __DIR__ . '/wp/wp-blog-header.php';"),
        ("web/wp-config.php", "<?php require_once dirname(__DIR__) . '/config/application.php';"),
        ("web/wp/wp-includes/a.php", ""),
        ("web/app/plugins/a.php", ""),
        ("config/application.php", "<?php Config::define('CONTENT_DIR', '/app');\nConfig::define('WP_CONTENT_DIR', $webroot_dir . Config::get('CONTENT_DIR'));\nConfig::define(\n  'MULTISITE',\n  true\n);"),
    ]
    .map(|(file, text)| (format!("{release}{file}"), text))
    .into();
    let files: Vec<_> = files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
    for (from, root) in [
        ("releases/1", "releases/1/web"),
        ("", "current/web"),
        ("current", "current/web"),
        ("current/web", "current/web"),
    ] {
        let (top, layout) = found("bedrock", &files, &[("releases/1", "current")], from).expect("WordPress");
        assert_eq!((layout.core.as_str(), layout.content.as_str()), ("/wp", "app"), "{from}");
        assert_eq!(layout.root, top.join(root), "the link is followed for each request");
        assert_eq!(
            (layout.configuration_path().as_str(), layout.content_regex().as_str()),
            ("/wp-config.php", "(?:wp-content|app)")
        );
    }
}

#[test]
fn content_folder_follows_from_the_configuration() {
    let site = |value: &str| {
        let configuration = format!("<?php\ndefine(\n  'WP_CONTENT_DIR',\n  {value}\n);");
        let files = [
            ("html/index.php", "<?php"),
            ("html/wp-includes/a.php", ""),
            ("html/media/a.txt", ""),
            ("other/a.txt", ""),
            ("html/wp-config.php", configuration.as_str()),
        ];
        found("content", &files, &[], "html").expect("WordPress")
    };
    for value in [
        "__DIR__ . '/media'",
        "dirname( __FILE__ ) . '/media'",
        "ABSPATH . 'media'",
        "$_SERVER['DOCUMENT_ROOT'] . '/media/'",
    ] {
        assert_eq!(site(value).1.content, "media", "{value}");
    }
}

#[test]
fn parent_folders_in_a_path_are_resolved_without_its_links() {
    let files = [("html/index.php", "<?php"), ("html/wp-includes/a.php", ""), ("other/deep/a.txt", "")];
    let (top, layout) =
        found("parents", &files, &[("other/deep", "link")], "link/../html").expect("WordPress");
    assert_eq!(layout.root, top.join("html"));
}

#[test]
fn content_folder_outside_of_the_site_must_have_its_owner() {
    let top = std::env::temp_dir().join(format!("myriad-layout-outside-{}", std::process::id()));
    let (root, outside) = (top.join("html"), top.join("outside"));
    fs::create_dir_all(root.join("wp-includes")).expect("folders");
    fs::create_dir(&outside).expect("a folder");
    fs::write(root.join("index.php"), "<?php").expect("a file");
    let configuration = format!("<?php define('WP_CONTENT_DIR', '{}');", outside.display());
    fs::write(root.join("wp-config.php"), configuration).expect("a file");
    let layout = || SiteLayout::find(&root).expect("a folder").expect("WordPress");
    // Only root can change owners. If another user runs the tests, all files belong to that user already.
    let is_root = chown(&root, Some(54_321), None).is_ok();
    if is_root {
        let refused = layout();
        let told = refused.writable_content().expect_err("a folder of root");
        for part in ["wp-config.php: ", "outside is outside of the site and owned by root", "owned by 54321"]
        {
            assert!(told.contains(part), "{told}");
        }
        assert_eq!(refused.content_folder(), root.join("wp-content"));
        assert!(refused.notice(&root).expect("a notice").contains("and is not used; move it"));
        chown(&outside, Some(54_321), None).expect("its owner");
    }
    let accepted = layout();
    assert_eq!((accepted.content.as_str(), accepted.content_folder()), ("wp-content", outside.clone()));
    assert_eq!(accepted.writable_content().expect("a folder").0, outside);
    assert!(accepted.notice(Path::new("/x")).expect("a notice").contains("outside of that folder"));
    fs::remove_dir_all(&top).expect("clean");
}
