//! Traversal of directives and sections, which passes each directive to the module that translates it.

use crate::apache::access::AccessRules;
use crate::apache::lines::ApacheItem;
use crate::apache::pattern::{escaped, glob_regex, is_balanced, is_glob, quoted};
use crate::apache::site::{Remark, TranslationOptions, WalkResult};
use crate::apache::state::{ApacheWalk, DeferredSection, SectionGuard};
use crate::apache::{access, env, expires, headers, redirects, rewrite, settings, version};

/// Apache modules for which directives are translated. The contents of an `<IfModule>` with one of these names are
/// read.
const MODULES: [&str; 22] = [
    "rewrite",
    "headers",
    "expires",
    "deflate",
    "filter",
    "mime",
    "dir",
    "alias",
    "setenvif",
    "env",
    "authz_core",
    "authz_host",
    "authz_user",
    "access_compat",
    "auth_basic",
    "authn_core",
    "authn_file",
    "autoindex",
    "negotiation",
    "php",
    "php7",
    "php8",
];

/// Translates the parsed items of a text.
pub(crate) fn walk<'o>(
    items: &'o [ApacheItem],
    options: &'o TranslationOptions,
    remarks: Vec<Remark>,
) -> WalkResult {
    let mut found = WalkResult { servers: Vec::new(), remarks };
    let hosts: Vec<&'o ApacheItem> = items.iter().filter(|item| item.is("VirtualHost")).collect();
    if hosts.is_empty() {
        let mut walk = ApacheWalk::new(options, Some(options.base.clone()));
        walk.scope(items);
        walk.handle_deferred();
        walk.finish(&mut found);
        return found;
    }
    for item in items.iter().filter(|item| !item.is("VirtualHost")) {
        if !item.is("Listen") {
            found.remarks.push(Remark::missing(
                item.line,
                &item.text,
                "not translated outside of a virtual host, because the file contains virtual hosts",
            ));
        }
    }
    for host in hosts {
        let mut walk = ApacheWalk::new(options, None);
        settings::addresses(&mut walk, host);
        walk.scope(host.inner.as_deref().unwrap_or_default());
        walk.handle_deferred();
        walk.finish(&mut found);
    }
    found
}

impl<'o> ApacheWalk<'o> {
    fn finish(mut self, found: &mut WalkResult) {
        expires::finish(&mut self);
        rewrite::finish(&mut self);
        found.servers.push(self.parts);
        found.remarks.extend(self.remarks);
    }

    /// Handles the contents of a section that has its own access control, or of the whole file.
    fn scope(&mut self, items: &'o [ApacheItem]) {
        let mut access = AccessRules::default();
        let mut sections = Vec::new();
        self.items(items, &mut access, &mut sections);
        access::emit(self, access);
        // The access control of a section is applied after that of the enclosing one, wherever it is written, and that
        // of an inner folder after that of an outer one.
        sections.sort_by_key(|section| depth(section));
        for section in sections {
            if self.is_late || rank(section).is_none() {
                self.section(section);
                continue;
            }
            let later = DeferredSection {
                item: section,
                guards: self.guards.clone(),
                folder: self.folder.clone(),
                around: self.around.clone(),
                auth: (!self.guards.is_empty()).then(|| self.auth.clone()),
            };
            self.later.push(later);
        }
    }

    /// Handles the sections that Apache evaluates after all folders: first those for files, then those for locations.
    fn handle_deferred(&mut self) {
        self.is_late = true;
        let mut sections = std::mem::take(&mut self.later);
        sections.sort_by_key(|section| rank(section.item));
        for DeferredSection { item, guards, folder, around, auth } in sections {
            let before = (self.folder.clone(), self.auth.clone());
            (self.guards, self.folder) = (guards, folder);
            self.auth = auth.unwrap_or_else(|| before.1.clone());
            let lengths = self.lengths();
            self.section(item);
            self.prepend_section_lines(lengths, &around);
            self.guards.clear();
            (self.folder, self.auth) = before;
        }
    }

    fn items(
        &mut self,
        items: &'o [ApacheItem],
        access: &mut AccessRules,
        sections: &mut Vec<&'o ApacheItem>,
    ) {
        for item in items {
            let Some(inner) = &item.inner else {
                self.directive(item, access);
                continue;
            };
            if item.is("IfModule") {
                if self.has_module(item) {
                    self.items(inner, access, sections);
                }
            } else if let Some(holds) = version::holds(item).filter(|_| item.is("IfVersion")) {
                if holds {
                    self.items(inner, access, sections);
                }
            } else if item.is("IfVersion") || item.is("IfDefine") {
                self.missing(item, "it tests properties of Apache itself; its contents are left out");
            } else if item.is("RequireAll") || item.is("RequireAny") || item.is("RequireNone") {
                access.nested(self, item);
            } else {
                sections.push(item);
            }
        }
    }

    /// Returns whether the contents of an `<IfModule>` are read: its module is one of [`MODULES`], or it has a `!` and
    /// the module is none of them. A section that is left out because its module is unknown is reported, with a
    /// stronger remark if it contains access rules.
    pub(crate) fn has_module(&mut self, item: &ApacheItem) -> bool {
        let written = item.word(0).to_ascii_lowercase();
        let name = written
            .trim_start_matches('!')
            .trim_start_matches("mod_")
            .trim_end_matches("_module")
            .trim_end_matches(".c")
            .to_owned();
        let is_known = MODULES.contains(&name.as_str());
        if !is_known && !written.starts_with('!') {
            if has_access_directives(item) {
                let reason =
                    "Myriad has no such module: the section is left out, although it contains access rules";
                self.missing(item, reason);
            } else {
                self.note(item, "Myriad has no such module: the section is left out");
            }
        }
        is_known != written.starts_with('!')
    }

    fn directive(&mut self, item: &ApacheItem, access: &mut AccessRules) {
        let is_done = access.take(self, item)
            || rewrite::take(self, item)
            || redirects::take(self, item)
            || headers::take(self, item)
            || expires::take(self, item)
            || env::take(self, item)
            || settings::take(self, item);
        if !is_done {
            self.missing(item, "the directive has no known counterpart in Myriad");
        }
    }

    fn section(&mut self, item: &'o ApacheItem) {
        let inner = item.inner.as_deref().unwrap_or_default();
        let before = (self.guards.len(), self.folder.clone(), self.auth.clone());
        let lengths = self.lengths();
        let line = (item.line, item.text.clone());
        match self.guard(item) {
            Ok(guard) => {
                self.guards.extend(guard);
                self.around.push(line.clone());
                self.scope(inner);
                self.around.pop();
            }
            Err(reason) => {
                // The omission of a section that may have denied clients is reported.
                self.missing(item, &reason);
            }
        }
        if self.guards.len() > before.0 {
            self.auth = before.2;
        }
        self.guards.truncate(before.0);
        self.folder = before.1;
        self.prepend_section_lines(lengths, &[line]);
    }

    fn lengths(&mut self) -> [usize; 6] {
        self.parts.lists().map(|list| list.len())
    }

    /// Adds the lines of the enclosing sections to the entries that were added since the lists had these lengths,
    /// except entries without original lines.
    fn prepend_section_lines(&mut self, lengths: [usize; 6], around: &[(usize, String)]) {
        for (list, length) in self.parts.lists().into_iter().zip(lengths) {
            for entry in list.iter_mut().skip(length).filter(|entry| !entry.of.is_empty()) {
                entry.of.splice(0..0, around.iter().cloned());
            }
        }
    }

    /// Returns the guard of a section; `None` if it applies to all requests, and an error text if it cannot be
    /// translated. Sets `folder` for the rewrite rules in the section.
    fn guard(&mut self, item: &ApacheItem) -> Result<Option<SectionGuard>, String> {
        let is_regex = item.word(0) == "~";
        let first = item.word(usize::from(is_regex)).to_owned();
        let name = item.name.to_ascii_lowercase();
        match name.as_str() {
            "files" | "filesmatch" => {
                self.parts.uses_file = true;
                // Rewrite rules apply to folders. In a section for files they are reported, not translated for all
                // files.
                self.folder = None;
                let is_glob = name == "files" && !is_regex;
                let regex = if is_glob { format!("^{}$", glob_regex(&first)?) } else { first };
                matching("$apache_file", &regex)
            }
            "limit" | "limitexcept" => {
                let methods: Vec<String> = item.words.iter().map(|word| escaped(word)).collect();
                let regex = quoted(&format!("^({})$", methods.join("|")));
                // In Apache, GET includes HEAD.
                let regex = regex.replace("GET", "GET|HEAD");
                let (holds, fails) =
                    (format!("$request_method ~ {regex}"), format!("$request_method !~ {regex}"));
                let guard = if name == "limit" {
                    SectionGuard { holds, fails }
                } else {
                    SectionGuard { holds: fails, fails: holds }
                };
                Ok(Some(guard))
            }
            "location" if !is_regex => {
                self.folder = None;
                matching("$uri", &location(&first)?)
            }
            "location" | "locationmatch" => {
                self.folder = None;
                matching("$uri", &first)
            }
            "directory" if !is_regex => self.directory(&first),
            "if" | "elseif" | "else" => {
                Err("expressions of <If> are not translated: write if or map blocks".into())
            }
            "proxy" | "proxymatch" | "directorymatch" | "directory" => Err("write a location for it".into()),
            _ => Err("unknown section".into()),
        }
    }

    /// Returns the guard of `<Directory>`: `None` for the root of the site or a folder that encloses it, otherwise a
    /// test for the paths below. Returns an error text for a folder that is not in the site. Sets `folder`.
    fn directory(&mut self, path: &str) -> Result<Option<SectionGuard>, String> {
        let root =
            self.options.root.clone().or(self.parts.root.clone()).unwrap_or_else(|| "/var/www/html".into());
        let (path, root) = (path.trim_end_matches('/'), root.trim_end_matches('/'));
        if root == path || root.starts_with(&format!("{path}/")) {
            self.folder = Some("/".into());
            return Ok(None);
        }
        let Some(below) = path.strip_prefix(root).filter(|below| below.starts_with('/')) else {
            return Err(if is_glob(path) {
                "its wildcards match paths outside of the site's folder: write a location for it".into()
            } else {
                "the path is outside of the site's folder".into()
            });
        };
        self.folder = Some(format!("{below}/")).filter(|_| !is_glob(below));
        matching("$uri", &format!("^{}/", glob_regex(below)?))
    }
}

/// Returns the rank of a section that is handled after all folders; `None` for other sections.
fn rank(item: &ApacheItem) -> Option<u8> {
    match item.name.to_ascii_lowercase().as_str() {
        "files" | "filesmatch" => Some(0),
        "location" | "locationmatch" => Some(1),
        _ => None,
    }
}

/// Returns the depth of the folder of a `<Directory>`, by which Apache sorts these sections; 0 for other sections.
fn depth(item: &ApacheItem) -> usize {
    if !item.is("Directory") {
        return 0;
    }
    1 + item.word(0).trim_end_matches('/').matches('/').count()
}

/// Returns a regex for the paths of `<Location>`: the path and all paths below it, but with wildcards only the whole
/// path.
fn location(path: &str) -> Result<String, String> {
    if !path.starts_with('/') {
        return Err("the path must start with /".into());
    }
    let end = match path {
        _ if is_glob(path) => "$",
        _ if path.ends_with('/') => "",
        _ => "(/|$)",
    };
    Ok(format!("^{}{end}", glob_regex(path)?))
}

/// Returns whether a section contains access directives at any depth.
fn has_access_directives(item: &ApacheItem) -> bool {
    item.inner.iter().flatten().any(|inner| {
        let name = inner.name.to_ascii_lowercase();
        let is_access = ["require", "order", "deny", "allow", "satisfy"].contains(&name.as_str());
        is_access || name.starts_with("auth") || has_access_directives(inner)
    })
}

fn matching(variable: &str, regex: &str) -> Result<Option<SectionGuard>, String> {
    if !is_balanced(regex) {
        return Err("the regex is invalid".into());
    }
    let regex = quoted(regex);
    Ok(Some(SectionGuard { holds: format!("{variable} ~ {regex}"), fails: format!("{variable} !~ {regex}") }))
}
