//! Combination of the rules of all `.htaccess` files of a site into regexes of the URL paths that are denied.
//!
//! The last rule that matches a path decides, so a path is denied if a denial matches it and no later admission does.
//! Each regex combines denials with the same later admissions (exceptions): `(?!exceptions)(?:denials)`. There are
//! several regexes, because the length of a pattern is limited.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::ops::Bound;

use crate::apache::denials::{AccessDenials, FilePattern, MODULES};
use crate::apache::pattern::{escaped, split};

/// Maximum length of a regex, in bytes. PCRE2 limits compiled patterns to 64 Ki code units.
const MAX_REGEX: usize = 16 << 10;
/// Maximum length of the exceptions of a denial, in bytes.
const MAX_EXCEPTIONS: usize = 4 << 10;
/// Total length of the denials of a site, in bytes, above which the whole folder of denied files is denied instead.
const MAX_DENIALS: usize = 256 << 10;
/// Total length, in bytes, of the denials of a site above which further rules are skipped; likewise of the exceptions
/// of each access module.
const MAX_TOTAL: usize = 2 * MAX_DENIALS;
/// Maximum total length of the exceptions in the regexes of a site, in bytes. Denials that would exceed it are applied
/// without their exceptions.
const MAX_ALL_EXCEPTIONS: usize = 128 << 10;

/// Denied URL paths of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeniedPaths {
    /// Regexes; a path is denied if one of them matches it.
    pub regexes: Vec<String>,
    /// Number of rules that are not applied as written, because they or their exceptions do not compile or exceed the
    /// limits. A rule may be counted several times.
    pub skipped: usize,
}

/// Path by which symbolic links lead from a folder to itself, so that it has any number of URL paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// URL path of the folder, starting and ending with `/`.
    pub folder: String,
    /// Relative path from the folder to itself, ending with `/`.
    pub way: String,
}

/// Combines the rules of all folders, which are given by their URL paths, starting and ending with `/`. `compiles`
/// returns whether a regex compiles. Exceptions that cannot be applied are skipped, so that more is denied. A denial
/// that cannot be applied is replaced by a denial of its whole folder; if that cannot be applied either, it is skipped.
pub fn denied_paths(
    folders: &[(String, AccessDenials)],
    cycles: &[Cycle],
    compiles: impl Fn(&str) -> bool,
) -> DeniedPaths {
    let mut combined = Combined::new(&compiles);
    for module in 0..MODULES {
        combined.add(&sorted(folders, cycles, module));
    }
    combined.finish()
}

/// Returns a regex for the URL paths of a folder, which may pass through each cycle any number of times; `None` if it
/// is too long.
fn path_regex(path: &str, cycles: &[Cycle]) -> Option<String> {
    if cycles.is_empty() {
        return Some(escaped(path));
    }
    ways("", path, cycles)
}

/// Returns a regex for the paths from the folder `from` to `from` + `way`. It includes the cycles of the folders on the
/// path, but not the cycles of `from` itself. Returns `None` if the regex is too long.
fn ways(from: &str, way: &str, cycles: &[Cycle]) -> Option<String> {
    let (mut regex, mut reached) = (String::new(), from.to_owned());
    for name in way.split_inclusive('/') {
        regex.push_str(&escaped(name));
        reached.push_str(name);
        let here = cycles.iter().filter(|cycle| cycle.folder == reached);
        let here: Option<Vec<_>> = here.map(|cycle| ways(&cycle.folder, &cycle.way, cycles)).collect();
        let here = here?;
        if !here.is_empty() {
            let _ = write!(regex, "(?:{})*", here.join("|"));
        }
        if regex.len() > MAX_REGEX {
            return None;
        }
    }
    Some(regex)
}

/// Rule of one access module.
struct Rule<'f> {
    /// URL path of the folder to whose files the rule applies.
    path: &'f str,
    /// Files to which the rule applies; `None` for the whole folder.
    name: Option<&'f FilePattern>,
    is_admitted: bool,
    cycles: &'f [Cycle],
}

impl Rule<'_> {
    /// Returns the regex of the paths to which the rule applies; `None` if it is too long.
    fn regex(&self) -> Option<String> {
        let base = path_regex(self.path, self.cycles)?;
        let Some(name) = self.name else { return Some(format!("^{base}")).filter(|regex| fits(regex)) };
        let (FilePattern::File(pattern) | FilePattern::Path(pattern)) = name;
        let copies = if matches!(name, FilePattern::Path(_)) { split(pattern).len() } else { 1 };
        let length = base.len().saturating_mul(copies).saturating_add(pattern.len());
        let regex = (length <= MAX_REGEX).then(|| name.regex(&base))?;
        regex.filter(|regex| fits(regex))
    }

    /// Returns a regex that denies the whole folder, used if the denial itself cannot be applied; `None` for the root
    /// of the site, which contains every page. If the path of the folder is too long, an enclosing folder is denied.
    fn whole_folder(&self) -> Option<String> {
        let ends = self.path.match_indices('/').map(|(at, _)| &self.path[..=at]);
        let folders = ends.skip(1).collect::<Vec<_>>().into_iter().rev();
        let mut regexes = folders.filter_map(|path| path_regex(path, self.cycles));
        regexes.find(|regex| fits(regex)).map(|regex| format!("^{regex}"))
    }
}

/// Returns whether a regex is short enough to be combined with exceptions.
fn fits(regex: &str) -> bool {
    regex.len() + MAX_EXCEPTIONS + SYNTAX <= MAX_REGEX
}

/// Returns the rules of one module in Apache's order: those for folders, outer ones first, then those for files, of
/// outer folders first. Denials come first where the order has no effect (in different folders of one depth), so that
/// more of them have the same exceptions.
fn sorted<'f>(folders: &'f [(String, AccessDenials)], cycles: &'f [Cycle], module: usize) -> Vec<Rule<'f>> {
    let depth = |path: &str| path.matches('/').count();
    let mut rules = Vec::new();
    for (path, denials) in folders {
        if let Some(is_admitted) = denials.folder[module] {
            rules.push(((false, depth(path), 0, is_admitted, path), None));
        }
        for (index, (name, access)) in denials.names.iter().enumerate() {
            if let Some(is_admitted) = access[module] {
                rules.push(((true, depth(path), index, is_admitted, path), Some(name)));
            }
        }
    }
    rules.sort_by_key(|(key, _)| *key);
    rules
        .into_iter()
        .map(|((.., is_admitted, path), name)| Rule { path, name, is_admitted, cycles })
        .collect()
}

/// Exceptions of a module by the URL path of their folder: each with its position in the order of rules, and its regex.
type Exceptions<'f> = BTreeMap<&'f str, Vec<(usize, String)>>;

/// Returns the exceptions after the rule at `position` that may match paths in its folder: those of the folder itself,
/// of enclosing folders and of folders below. The total length is limited; the second value is false if exceptions are
/// left out.
fn later<'e>(exceptions: &'e Exceptions<'_>, path: &str, position: usize) -> (Vec<&'e str>, bool) {
    let around = path.match_indices('/').filter_map(|(at, _)| exceptions.get(&path[..=at]));
    let below = exceptions.range::<str, _>((Bound::Excluded(path), Bound::Unbounded));
    let below = below.take_while(|(inner, _)| inner.starts_with(path)).map(|(_, rules)| rules);
    let (mut found, mut length) = (Vec::new(), 0);
    for (at, regex) in around.chain(below).flatten() {
        if *at < position {
            continue;
        }
        length += regex.len() + SYNTAX;
        if length > MAX_EXCEPTIONS {
            return (found, false);
        }
        found.push(regex.as_str());
    }
    (found, true)
}

/// Maximum length of the syntax that is added to a rule in a regex, in bytes.
const SYNTAX: usize = 16;

/// Regex of a denial, and the regex of its exceptions, which is empty if there are none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Item {
    exceptions: String,
    denial: String,
}

/// State of the combination of a site's denials.
struct Combined<'c> {
    compiles: &'c dyn Fn(&str) -> bool,
    known: HashSet<Item>,
    /// Items of the regex being assembled.
    items: Vec<Item>,
    length: usize,
    /// Total length of the denials added so far, in bytes.
    denials: usize,
    exceptions: usize,
    done: DeniedPaths,
}

impl<'c> Combined<'c> {
    fn new(compiles: &'c dyn Fn(&str) -> bool) -> Self {
        Self {
            compiles,
            known: HashSet::new(),
            items: Vec::new(),
            length: 0,
            denials: 0,
            exceptions: 0,
            done: DeniedPaths::default(),
        }
    }

    /// Adds the denials among the rules of a module, each with the admissions after it as exceptions. `rules` are in
    /// Apache's order.
    fn add(&mut self, rules: &[Rule<'_>]) {
        let exceptions = self.exceptions_of(rules);
        for (position, rule) in rules.iter().enumerate().filter(|(_, rule)| !rule.is_admitted) {
            let Some(denial) = self.denial(rule) else { continue };
            let (later, is_complete) = later(&exceptions, rule.path, position);
            self.done.skipped += usize::from(!is_complete);
            self.push(Item { exceptions: later.join("|"), denial });
        }
    }

    /// Returns the regexes of the admissions that follow the first denial. Regexes that do not compile, are too long or
    /// exceed [`MAX_TOTAL`] are left out and counted as skipped.
    fn exceptions_of<'f>(&mut self, rules: &[Rule<'f>]) -> Exceptions<'f> {
        let (mut exceptions, mut length) = (Exceptions::new(), 0);
        let first = rules.iter().position(|rule| !rule.is_admitted).unwrap_or(rules.len());
        for (position, rule) in rules.iter().enumerate().skip(first).filter(|(_, rule)| rule.is_admitted) {
            let regex = if length < MAX_TOTAL { rule.regex() } else { None };
            match regex.filter(|regex| (self.compiles)(regex)) {
                Some(regex) => {
                    length += regex.len();
                    exceptions.entry(rule.path).or_default().push((position, grouped(&regex)));
                }
                None => self.done.skipped += 1,
            }
        }
        exceptions
    }

    /// Returns the regex of a denial, or one that denies its whole folder; `None` if neither can be used. In the last
    /// two cases the rule is counted as skipped.
    fn denial(&mut self, rule: &Rule<'_>) -> Option<String> {
        let regex = if self.denials < MAX_DENIALS { rule.regex() } else { None };
        if let Some(regex) = regex.filter(|regex| (self.compiles)(regex)) {
            return Some(grouped(&regex));
        }
        self.done.skipped += 1;
        let folder = if self.denials < MAX_TOTAL { rule.whole_folder() } else { None };
        folder.filter(|regex| (self.compiles)(regex)).map(|regex| grouped(&regex))
    }

    fn push(&mut self, mut item: Item) {
        // Both modules often have the same rules.
        if self.known.contains(&item) {
            return;
        }
        if self.exceptions + item.exceptions.len() > MAX_ALL_EXCEPTIONS && !self.continues(&item) {
            self.done.skipped += 1;
            item.exceptions.clear();
        }
        if !self.known.insert(item.clone()) {
            return;
        }
        if self.length + item.denial.len() + item.exceptions.len() + SYNTAX > MAX_REGEX {
            self.close();
        }
        let exceptions = if self.continues(&item) { 0 } else { item.exceptions.len() };
        self.length += item.denial.len() + exceptions + SYNTAX;
        self.denials += item.denial.len();
        self.exceptions += exceptions;
        self.items.push(item);
    }

    /// Returns whether an item has the same exceptions as the item added before it, so that the regex contains them
    /// only once.
    fn continues(&self, item: &Item) -> bool {
        self.items.last().is_some_and(|last| last.exceptions == item.exceptions)
    }

    /// Adds the regexes of the assembled items to the result, and removes the items.
    fn close(&mut self) {
        let items = std::mem::take(&mut self.items);
        self.length = 0;
        if !items.is_empty() {
            self.compile(&items);
        }
    }

    /// Adds a regex of the items `items` to the result; if it does not compile, adds several regexes of fewer items. A
    /// single item that does not compile is added without its exceptions and counted as skipped.
    fn compile(&mut self, items: &[Item]) {
        let regex = joined(items);
        if (self.compiles)(&regex) {
            self.done.regexes.push(regex);
        } else if let [item] = items {
            self.done.skipped += 1;
            // Without its exceptions, the denial compiles.
            self.done.regexes.push(item.denial.clone());
        } else {
            let (before, after) = items.split_at(items.len() / 2);
            self.compile(before);
            self.compile(after);
        }
    }

    fn finish(mut self) -> DeniedPaths {
        self.close();
        self.done
    }
}

/// Encloses a regex in a group, so that a `(?i)` at its start does not apply to the rules after it.
fn grouped(regex: &str) -> String {
    format!("(?:{regex})")
}

/// Returns the regex of several items. Successive items with the same exceptions share them.
fn joined(items: &[Item]) -> String {
    let same = items.chunk_by(|a, b| a.exceptions == b.exceptions);
    let parts = same.map(|items| {
        let denials: Vec<_> = items.iter().map(|item| item.denial.as_str()).collect();
        let denials = denials.join("|");
        match items[0].exceptions.as_str() {
            "" => denials,
            exceptions => format!("(?!{exceptions})(?:{denials})"),
        }
    });
    parts.collect::<Vec<_>>().join("|")
}

#[cfg(test)]
mod tests {
    use myriad_script::Regex;

    use super::super::denials::{PartialAccess, denials};
    use super::*;

    const DENY: &str =
        "<IfModule authz_core_module>\nRequire all denied\n</IfModule>\nOrder allow,deny\nDeny from all\n";

    fn read(text: &str) -> AccessDenials {
        denials(text, PartialAccess::Denied)
    }

    /// Combines rules, and compiles the regexes as a configuration does.
    fn combined(folders: &[(String, AccessDenials)]) -> (DeniedPaths, Vec<Regex>) {
        let paths = denied_paths(folders, &[], |regex| Regex::without_captures(regex).is_ok());
        let compiled =
            paths.regexes.iter().map(|regex| Regex::without_captures(regex).expect("a valid regex"));
        let compiled = compiled.collect();
        (paths, compiled)
    }

    fn is_denied(regexes: &[Regex], path: &str) -> bool {
        regexes.iter().any(|regex| regex.is_match(path.as_bytes()).expect("a result"))
    }

    #[test]
    fn inner_folder_overrides_the_outer_one_and_files_come_last() {
        let folders = [
            ("/a/b/".to_owned(), read("Require all granted")),
            ("/a/".to_owned(), read("Require all denied\n<Files x>\nRequire all denied\n</Files>")),
        ];
        let (paths, regexes) = combined(&folders);
        let [regex] = &paths.regexes[..] else { panic!("{paths:?}") };
        let (outer, files) = regex.split_once('|').expect("two rules");
        assert!(files.starts_with("(?:^/a/(?:.*/)?"), "{regex}");
        assert_eq!(outer, "(?!(?:^/a/b/))(?:(?:^/a/))");
        let denied = ["/a/y", "/a/x", "/a/b/x", "/a/b/y"].map(|path| is_denied(&regexes, path));
        assert_eq!(denied, [true, true, true, false]);
    }

    #[test]
    fn five_hundred_folders_with_long_names_are_denied_by_several_regexes_that_compile() {
        let image = "<FilesMatch '\\.(jpg|png)$'>\nRequire all granted\nOrder allow,deny\nAllow from all\n</FilesMatch>\n";
        for text in [DENY.to_owned(), [DENY, image].concat()] {
            let folders: Vec<_> = (0..500)
                .map(|number| {
                    (format!("/wp-content/uploads/{number}-{}(a b)\n/", "n".repeat(240)), read(&text))
                })
                .collect();
            let (paths, regexes) = combined(&folders);
            assert!(regexes.len() > 5 && regexes.len() < 100, "{}", regexes.len());
            assert_eq!(paths.skipped > 0, text != DENY, "the limit of exceptions is reached");
            for (path, _) in &folders {
                assert!(is_denied(&regexes, &format!("{path}a.pdf")), "{path}");
            }
            assert!(!is_denied(&regexes, "/wp-content/uploads/5-n/a.pdf"));
            assert_eq!(is_denied(&regexes, &format!("{}a.jpg", folders[0].0)), text == DENY);
        }
    }

    #[test]
    fn folder_is_denied_by_every_path_that_passes_through_cycles_of_links() {
        let cycle = |folder: &str, way: &str| Cycle { folder: folder.to_owned(), way: way.to_owned() };
        let cycles =
            [cycle("/", "blog/"), cycle("/", "a/b/up/"), cycle("/a/b/", "self/"), cycle("/c/", "d/")];
        let folders = [("/a/sold/".to_owned(), read("Deny from all"))];
        let paths = denied_paths(&folders, &cycles, |regex| Regex::without_captures(regex).is_ok());
        let regexes = [Regex::without_captures(&paths.regexes[0]).expect("a valid regex")];
        for path in ["", "blog/", "blog/blog/", "a/b/up/", "blog/a/b/self/self/up/blog/a/b/up/"] {
            assert!(is_denied(&regexes, &format!("/{path}a/sold/x")), "{path}");
            assert!(!is_denied(&regexes, &format!("/{path}sold/x")), "{path}");
        }
        assert!(!is_denied(&regexes, "/c/d/a/sold/x") && !is_denied(&regexes, "/a/b/a/sold/x"));
    }

    #[test]
    fn exceptions_apply_to_their_own_folders_and_to_earlier_rules_only() {
        let section = |name: &str, access: &str| format!("<Files {name}>\nRequire all {access}\n</Files>\n");
        let folders: Vec<_> = (0..200)
            .map(|number| {
                let of_number = section(&format!("a{number}"), "granted");
                let text = [DENY.lines().nth(1).expect("a line"), "\n", &of_number, &section("a1", "denied")];
                (format!("/u/{number}/"), read(&text.concat()))
            })
            .chain([("/u/".to_owned(), read(&section("index.html", "granted")))])
            .collect();
        let (paths, regexes) = combined(&folders);
        assert_eq!(paths.skipped, 0);
        for number in [0, 1, 7, 199] {
            let denied = ["x", &format!("a{number}"), "a1", "a8", "index.html"]
                .map(|name| is_denied(&regexes, &format!("/u/{number}/{name}")));
            assert_eq!(denied, [true, number == 1, true, true, false], "{number}");
        }
    }

    #[test]
    fn regex_from_many_owner_rules_is_bounded_and_drops_exceptions_first() {
        let sections: Vec<_> = (0..32)
            .map(|number| {
                format!(
                    "<Files a{number}>\nRequire all granted\n</Files>\n<Files a{number}>\nRequire all denied\n</Files>\n"
                )
            })
            .collect();
        let sections = sections.concat();
        let folders: Vec<_> = (0..500)
            .map(|folder| {
                let path = format!("/{}{folder}/", "f/".repeat(folder % 60));
                (path, read(&format!("deny from all\n{sections}")))
            })
            .collect();
        let (paths, regexes) = combined(&folders);
        let length: usize = paths.regexes.iter().map(String::len).sum();
        assert!(length < 2 * (MAX_TOTAL + MAX_ALL_EXCEPTIONS) && paths.skipped > 0, "{length}");
        for (path, _) in &folders {
            assert!(is_denied(&regexes, &format!("{path}a.pdf")), "{path}");
        }
    }

    #[test]
    fn denial_that_does_not_compile_or_is_too_long_denies_its_folder() {
        let longest = format!("/a{}/", "/n".repeat(MAX_REGEX / 2));
        let alternatives = format!("RewriteRule ^{}$ - [F]", ["a"; 300].join("|"));
        for (path, text) in [
            ("/a/", "<FilesMatch \"a{2,1}\">\nDeny from all\n</FilesMatch>"),
            (&longest[..], &alternatives),
            (&longest[..], "Deny from all"),
        ] {
            let (paths, regexes) = combined(&[(path.to_owned(), read(text))]);
            assert!(is_denied(&regexes, &format!("{path}b")), "{path}: {paths:?}");
        }
        let root =
            combined(&[("/".to_owned(), read("<FilesMatch \"a{2,1}\">\nDeny from all\n</FilesMatch>"))]);
        assert_eq!(root.0, DeniedPaths { regexes: Vec::new(), skipped: 1 });
    }
}
