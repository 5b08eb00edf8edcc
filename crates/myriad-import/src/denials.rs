//! Files that a `.htaccess` denies to all clients, as a regex of their paths.
//!
//! Apache reads folders from the outer to the inner one, then the sections of files in the same order; the last that matches counts.
//! Both modules of access (`Require`; `Order`, `Allow` and `Deny`) must admit a client.

use crate::access::{Access, Verdict};
use crate::lines::{self, Item};
use crate::pattern::{below, escaped, of_glob, of_name};
use crate::site::{Options, Remark};
use crate::state::Walk;

/// Number of Apache's modules of access.
const MODULES: usize = 2;
/// Maximum number of sections and rules of a file; the rest is not read, which is a remark.
const MAX_RULES: usize = 64;

/// Access of each module: admitted, denied, or not mentioned.
type Access2 = [Option<bool>; 2];

/// Files of a folder that its `.htaccess` denies or admits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Denials {
    /// The whole folder.
    folder: Access2,
    /// Names of files, as regexes, in the order of the file.
    names: Vec<(Name, Access2)>,
    /// Lines that are not obeyed, or more strictly than they are written.
    pub remarks: Vec<Remark>,
}

/// Files that a section or a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    /// Regex of the file's name.
    File(String),
    /// Regex of the path below the folder.
    Path(String),
}

/// Rule for what a `.htaccess` admits some clients to (by address, by password): nothing here knows who these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partly {
    /// No client is admitted.
    Denied,
    /// All clients are.
    Admitted,
}

/// Reads a `.htaccess`. What it admits only some clients to is a remark.
pub fn denials(text: &str, partly: Partly) -> Denials {
    let (items, _) = lines::read(text);
    let options = Options::default();
    let mut reader = Reader { walk: Walk::new(&options, None), found: Denials::default(), partly };
    let folder = reader.scope(&items, true);
    reader.found.folder = folder;
    reader.found
}

struct Reader<'o> {
    walk: Walk<'o>,
    found: Denials,
    partly: Partly,
}

impl Reader<'_> {
    /// Access of a scope. Its sections of files are added; within one of them there is none.
    fn scope(&mut self, items: &[Item], is_folder: bool) -> Access2 {
        let mut access = Access::default();
        let mut last = None;
        self.items(items, &mut access, &mut last, is_folder);
        let verdicts = access.verdicts();
        let is = |wanted| verdicts.contains(&Some(wanted));
        let reason = if is(Verdict::Some) && self.partly == Partly::Denied {
            "it admits some clients only: all get 404 (`myriad import` translates it)"
        } else {
            "it denies some clients: all are admitted (`myriad import` translates it)"
        };
        if let (true, Some(item)) = (is(Verdict::Some) || is(Verdict::AllBut), last) {
            self.found.remarks.push(Remark::missing(item.line, &item.text, reason));
        }
        let admits = |verdict| match verdict {
            Verdict::All | Verdict::AllBut => true,
            Verdict::Some => self.partly == Partly::Admitted,
            Verdict::None => false,
        };
        verdicts.map(|verdict| verdict.map(admits))
    }

    fn items<'i>(
        &mut self,
        items: &'i [Item],
        access: &mut Access,
        last: &mut Option<&'i Item>,
        is_folder: bool,
    ) {
        let mut has_condition = false;
        for item in items {
            let Some(inner) = &item.inner else {
                if access.take(&mut self.walk, item) {
                    *last = Some(item);
                } else if item.is("RewriteCond") {
                    has_condition = true;
                } else if item.is("RewriteRule") {
                    if is_folder && !std::mem::take(&mut has_condition) {
                        self.rule(item);
                    }
                }
                continue;
            };
            if item.is("IfModule") {
                if self.walk.has_module(item) {
                    self.items(inner, access, last, is_folder);
                }
            } else if item.is("RequireAll") || item.is("RequireAny") || item.is("RequireNone") {
                access.nested(&mut self.walk, item);
                *last = Some(item);
            } else if item.is("Limit") && item.words.iter().any(|word| word.eq_ignore_ascii_case("get")) {
                self.items(inner, access, last, is_folder);
            } else if (item.is("Files") || item.is("FilesMatch")) && is_folder {
                self.files(item, inner);
            }
        }
    }

    fn files(&mut self, item: &Item, inner: &[Item]) {
        let access = self.scope(inner, false);
        if access == [None; 2] {
            return;
        }
        let is_regex = item.word(0) == "~";
        let first = item.word(usize::from(is_regex));
        let regex = if is_regex || item.is("FilesMatch") {
            Ok(first.to_owned())
        } else {
            of_glob(first).map(|name| format!("^{name}$"))
        };
        self.add(item, regex.map(Name::File), access);
    }

    /// `RewriteRule PATTERN - [F]` without a condition.
    fn rule(&mut self, item: &Item) {
        let flags = item.words.get(2..).unwrap_or_default().join("").to_ascii_uppercase();
        let flags = flags.trim_matches(['[', ']']).split(',').map(str::trim);
        let denies = flags.clone().any(|flag| matches!(flag, "F" | "FORBIDDEN" | "G" | "GONE"));
        let pattern = item.word(0);
        if !denies || item.word(1) != "-" || pattern.starts_with('!') {
            return;
        }
        let no_case = if flags.clone().any(|flag| matches!(flag, "NC" | "NOCASE")) { "(?i)" } else { "" };
        self.add(item, Ok(Name::Path(format!("{no_case}{pattern}"))), [Some(false), None]);
    }

    fn add(&mut self, item: &Item, name: Result<Name, String>, access: Access2) {
        let told = match name {
            Ok(_) if self.found.names.len() >= MAX_RULES => Err("there are too many sections".to_owned()),
            Ok(name) if name.regex("/").is_none() => Err("its regex cannot be taken over".to_owned()),
            told => told,
        };
        match told {
            Ok(name) => self.found.names.push((name, access)),
            Err(reason) => self.found.remarks.push(Remark::missing(item.line, &item.text, reason)),
        }
    }
}

impl Name {
    /// Regex of the whole path; `base` is a regex of the folder's.
    fn regex(&self, base: &str) -> Option<String> {
        let (Self::File(regex) | Self::Path(regex)) = self;
        let of_name = of_name(regex, base)?;
        if let Self::File(_) = self {
            return Some(of_name);
        }
        let (case, regex) = regex.strip_prefix("(?i)").map_or(("", regex.as_str()), |rest| ("(?i)", rest));
        below(regex, base).map(|regex| format!("{case}{regex}"))
    }
}

impl Denials {
    /// Whether anything is denied.
    pub fn is_denying(&self) -> bool {
        let all = std::iter::once(&self.folder).chain(self.names.iter().map(|(_, access)| access));
        all.flatten().any(|access| *access == Some(false))
    }

    /// Whether the whole folder is denied, but for exceptions.
    pub fn denies_folder(&self) -> bool {
        self.folder.contains(&Some(false))
    }

    /// Leaves out what is said of the whole folder.
    #[must_use]
    pub fn without_folder(self) -> Self {
        Self { folder: [None; 2], ..self }
    }

    /// Admits clients to the folder, unless the file says otherwise.
    #[must_use]
    pub fn or_admitted(mut self) -> Self {
        if self.folder == [None; 2] {
            self.folder[0] = Some(true);
        }
        self
    }

    /// Whether a file is denied; `path` is its URL path, and `folder` that of the folder, which begins and ends with `/`. `matches` runs a
    /// regex.
    pub fn denies(&self, folder: &str, path: &str, matches: impl Fn(&str, &str) -> bool) -> bool {
        let base = escaped(folder);
        (0..MODULES).any(|module| {
            let mut access = self.folder[module];
            for (name, of_name) in self.names.iter().filter(|(_, access)| access[module].is_some()) {
                if name.regex(&base).is_some_and(|regex| matches(&regex, path)) {
                    access = of_name[module];
                }
            }
            access == Some(false)
        })
    }
}

/// Regex of the URL paths of denied files; `None` if there are none. Each folder is given by its URL path, which begins and ends with
/// `/`. A regex that `compiles` refuses is left out.
pub fn regex_of(folders: &[(String, Denials)], compiles: impl Fn(&str) -> bool) -> Option<String> {
    let mut sorted: Vec<_> = folders.iter().map(|(path, denials)| (path, escaped(path), denials)).collect();
    sorted.sort_by_key(|(path, ..)| (path.matches('/').count(), path.as_str()));
    let of_folders = sorted.iter().map(|(_, base, denials)| (format!("^{base}"), denials.folder));
    let of_names = sorted.iter().flat_map(|(_, base, denials)| {
        let names = denials.names.iter();
        names.filter_map(move |(name, access)| Some((name.regex(base)?, *access)))
    });
    let rules: Vec<_> = of_folders.chain(of_names).filter(|(regex, _)| compiles(regex)).collect();
    let of_modules: Vec<_> =
        (0..MODULES).filter_map(|module| of_module(&rules, module)).filter(|regex| compiles(regex)).collect();
    (!of_modules.is_empty()).then(|| of_modules.join("|"))
}

/// Regex of what one module denies: the last rule that matches counts.
fn of_module(rules: &[(String, Access2)], module: usize) -> Option<String> {
    // From the last rule to the first: paths that are denied, and those that a later rule admits.
    let (mut denied, mut admitted): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for (regex, access) in rules.iter().rev() {
        match access[module] {
            Some(true) => admitted.push(format!("(?!{regex})")),
            Some(false) => denied.push(format!("{}(?:{regex})", admitted.concat())),
            None => {}
        }
    }
    (!denied.is_empty()).then(|| denied.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regex of a `.htaccess` in `/up/`.
    fn regex(text: &str) -> String {
        regex_of(&[("/up/".to_owned(), read(text))], |_| true).unwrap_or_default()
    }

    fn read(text: &str) -> Denials {
        denials(text, Partly::Denied)
    }

    #[test]
    fn folders_of_shops_are_denied_in_every_way_that_they_write_it() {
        for text in [
            "deny from all",
            "Order allow,deny\nDeny from all",
            "Order Deny,Allow\nDeny from all",
            "<Limit GET POST>\ndeny from all\n</Limit>",
            "# Apache 2.4\n<IfModule mod_authz_core.c>\nRequire all denied\n</IfModule>\n\
             <IfModule !mod_authz_core.c>\nOrder Allow,Deny\nDeny from all\n</IfModule>",
            "<RequireAll>\nRequire all denied\n</RequireAll>",
        ] {
            assert!(read(text).denies_folder(), "{text}");
            assert_eq!(regex(text), "(?:^/up/)", "{text}");
        }
        for text in [
            "Options -Indexes",
            "Require all granted",
            "Order deny,allow",
            "allow from all",
            "",
            "<If x>\nDeny",
        ] {
            assert!(!read(text).is_denying(), "{text}");
            assert_eq!(regex(text), "");
        }
    }

    #[test]
    fn sections_of_files_make_exceptions() {
        let told = regex(
            "deny from all\n<FilesMatch '\\.(jpg|png)$'>\nOrder Allow,Deny\nAllow from all\n</FilesMatch>",
        );
        let images = r"^/up/(?:.*/)?(?=[^/]*(?:$|\.php/))[^/]*?\.(jpg|png)(?:$|(?<=\.php)/)";
        assert_eq!(told, format!("(?!{images})(?:^/up/)"));
        let told = regex(
            "<Files ~ \"^secret\">\nRequire all denied\n</Files>\n<Files *.php>\nRequire all denied\n</Files>",
        );
        assert!(told.contains("php/))secret") && told.contains(r"[^/]*\.php(?:$"), "{told}");
        assert!(!read("<LimitExcept GET>\ndeny from all\n</LimitExcept>").is_denying());
        let told = regex(
            "RewriteEngine on\nRewriteRule ^(.*)\\.pdf$ - [F,L]\nRewriteCond %{A} b\nRewriteRule x - [F]\nRewriteRule y /z [L]",
        );
        assert_eq!(told, r"(?:^/up/(.*)\.pdf$)");
    }

    #[test]
    fn what_holds_for_some_clients_is_denied_to_all_with_a_remark() {
        for text in [
            "Require ip 10.0.0.0/8",
            "Order deny,allow\ndeny from all\nallow from 10.1",
            "Require valid-user",
            "Require host a.b",
        ] {
            let told = denials(text, Partly::Denied);
            assert!(told.denies_folder() && told.remarks.len() == 1, "{text}: {told:?}");
        }
        assert!(!denials("Require ip 10.0.0.0/8", Partly::Admitted).is_denying());
        let told = read("Order allow,deny\nallow from all\ndeny from 10.0.0.1");
        assert!(!told.is_denying() && told.remarks.len() == 1, "{told:?}");
    }

    #[test]
    fn inner_folder_overrides_the_outer_one_and_files_come_last() {
        let folders = [
            ("/a/b/".to_owned(), read("Require all granted")),
            ("/a/".to_owned(), read("Require all denied\n<Files x>\nRequire all denied\n</Files>")),
        ];
        let told = regex_of(&folders, |_| true).expect("a regex");
        let (files, outer) = told.split_once('|').expect("two rules");
        assert!(files.starts_with("(?:^/a/(?:.*/)?"), "{told}");
        assert_eq!(outer, "(?!^/a/b/)(?:^/a/)");
        assert_eq!(regex_of(&folders, |_| false), None);
    }

    #[test]
    fn file_is_denied_by_its_folder_but_for_exceptions() {
        // A stand-in for the engine: the name ends so.
        let ends = |regex: &str, path: &str| regex.contains("jpg") && path.ends_with(".jpg");
        let told = read("deny from all\n<FilesMatch jpg>\nallow from all\n</FilesMatch>");
        assert!(told.denies("/up/", "/up/a.pdf", ends) && !told.denies("/up/", "/up/a.jpg", ends));
        assert!(!read("Options -Indexes").or_admitted().denies("/up/", "/up/a.pdf", ends));
        assert!(!told.without_folder().denies("/up/", "/up/a.pdf", ends));
    }

    #[test]
    fn regex_that_would_do_more_than_match_is_not_taken_over() {
        for regex in [
            "(?<document_root>x)",
            "(?P<n>x)",
            "(?'n'x)",
            "(*LIMIT_MATCH=9)x",
            "(?R)",
            "(?1)",
            "(?x)a#",
            "a(?C1)",
            r"\Qa",
            r"\g{1}",
            "(^a|b)",
            "a)(b",
            "[a",
        ] {
            let told = read(&format!("<FilesMatch \"{regex}\">\nRequire all denied\n</FilesMatch>"));
            assert!(!told.is_denying() && told.remarks.len() == 1, "{regex}: {told:?}");
        }
        for regex in [r"(?i)\.(php|phtml)$", "^(a|b)$", r"^\.", "[(?]", "^(?!a)b", r"(?<=\.)gz$"] {
            assert!(
                read(&format!("<FilesMatch \"{regex}\">\nRequire all denied\n</FilesMatch>")).is_denying(),
                "{regex}"
            );
        }
    }
}
