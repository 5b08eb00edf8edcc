//! Paths that `.htaccess` files deny to all clients, as regexes.
//!
//! Apache applies the rules of folders from the outermost to the innermost, then the sections for files in the same
//! order; the last match decides. Both access modules (`Require`; `Order`, `Allow` and `Deny`) must admit a client.

use crate::apache::access::{AccessRules, AccessVerdict};
use crate::apache::lines::{self, ApacheItem};
use crate::apache::pattern::{below, file_name_regex, glob_regex};
use crate::apache::site::{Remark, TranslationOptions};
use crate::apache::state::ApacheWalk;
use crate::apache::version;

/// Maximum number of sections and rules that are read from a file; further ones are reported as remarks.
const MAX_RULES: usize = 64;

/// Number of Apache's access modules.
pub(super) const MODULES: usize = 2;
/// For each module: true if access is admitted, false if denied, `None` if the module has no directive.
pub(super) type AccessByModule = [Option<bool>; MODULES];

/// Access rules of the `.htaccess` of one folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessDenials {
    /// Rules for the whole folder.
    pub(super) folder: AccessByModule,
    /// Rules for files by name or path, in the order of the `.htaccess`.
    pub(super) names: Vec<(FilePattern, AccessByModule)>,
    /// Lines that are ignored or not applied as written.
    pub remarks: Vec<Remark>,
}

/// Files to which rules apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FilePattern {
    /// Regex for the file name.
    File(String),
    /// Regex for the path of the file relative to the folder.
    Path(String),
}

/// Treatment of rules that admit only some clients (by address or password), which are not evaluated here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialAccess {
    /// Rules that admit only some clients deny all clients.
    Denied,
    /// Rules that admit only some clients admit all clients.
    Admitted,
}

/// Parses the text of a `.htaccess`; `partly` applies to rules that admit only some clients. Access directives that are
/// not applied as written are reported as remarks. Ignored without a remark: rewrite rules that have conditions or a
/// negated pattern, do not deny access, or are in a section for files; sections that do not apply to GET (`<Limit>`,
/// `<LimitExcept>`); sections for files within others; and unknown sections.
pub fn denials(text: &str, partly: PartialAccess) -> AccessDenials {
    let (items, remarks) = lines::read(text);
    let options = TranslationOptions::default();
    let mut reader =
        DenialReader { walk: ApacheWalk::new(&options, None), found: AccessDenials::default(), partly };
    let folder = reader.scope(&items, true);
    reader.found.folder = folder;
    reader.found.remarks.extend(remarks);
    reader.found.remarks.sort_by_key(|remark| remark.line);
    reader.found
}

struct DenialReader<'o> {
    walk: ApacheWalk<'o>,
    found: AccessDenials,
    partly: PartialAccess,
}

/// Access rules of the file, or of a section for files, while its lines are being read.
#[derive(Default)]
struct Scope<'i> {
    access: AccessRules,
    /// Last line with an access directive.
    last: Option<&'i ApacheItem>,
    /// For each module, true if it denies access in an enclosed section with a condition that is not evaluated.
    denied: [bool; MODULES],
    /// False in a section for files; such sections cannot be nested.
    is_folder: bool,
}

impl DenialReader<'_> {
    /// Returns the access rules of a scope, and adds its sections for files.
    fn scope(&mut self, items: &[ApacheItem], is_folder: bool) -> AccessByModule {
        let mut scope = Scope { is_folder, ..Scope::default() };
        self.items(items, &mut scope);
        let verdicts = scope.access.verdicts();
        let is = |wanted| verdicts.contains(&Some(wanted));
        let reason = if is(AccessVerdict::Some) && self.partly == PartialAccess::Denied {
            "only some clients are admitted, which is not supported here: every client gets 404 (`myriad import` translates the rule)"
        } else {
            "only some clients are denied, which is not supported here: every client is admitted (`myriad import` translates the rule)"
        };
        if let (true, Some(item)) = (is(AccessVerdict::Some) || is(AccessVerdict::AllBut), scope.last) {
            self.found.remarks.push(Remark::missing(item.line, &item.text, reason));
        }
        let admits = |verdict| match verdict {
            AccessVerdict::All | AccessVerdict::AllBut => true,
            AccessVerdict::Some => self.partly == PartialAccess::Admitted,
            AccessVerdict::None => false,
        };
        let mut access = verdicts.map(|verdict| verdict.map(admits));
        for (access, is_denied) in access.iter_mut().zip(scope.denied) {
            *access = if is_denied { Some(false) } else { *access };
        }
        access
    }

    fn items<'i>(&mut self, items: &'i [ApacheItem], scope: &mut Scope<'i>) {
        let mut has_condition = false;
        for item in items {
            let Some(inner) = &item.inner else {
                if scope.access.take(&mut self.walk, item) {
                    scope.last = Some(item);
                } else if item.is("RewriteCond") {
                    has_condition = true;
                } else if item.is("RewriteRule") && !std::mem::take(&mut has_condition) && scope.is_folder {
                    self.rule(item);
                }
                continue;
            };
            let names_get = || item.words.iter().any(|word| word.eq_ignore_ascii_case("get"));
            match item.name.to_ascii_lowercase().as_str() {
                "ifmodule" if self.has_module(item) => self.items(inner, scope),
                "ifversion" => match version::holds(item) {
                    Some(true) => self.items(inner, scope),
                    Some(false) => {}
                    None => self.conditional(item, inner, scope),
                },
                "if" | "elseif" | "else" | "ifdefine" | "iffile" | "ifdirective" | "ifsection" => {
                    self.conditional(item, inner, scope);
                }
                "requireall" | "requireany" | "requirenone" => {
                    scope.access.nested(&mut self.walk, item);
                    scope.last = Some(item);
                }
                "limit" if names_get() => self.items(inner, scope),
                "limitexcept" if !names_get() => self.items(inner, scope),
                "files" | "filesmatch" if scope.is_folder => self.files(item, inner),
                _ => {}
            }
        }
    }

    /// Returns whether the contents of an `<IfModule>` are read, as [`ApacheWalk::has_module`] decides. Reports a
    /// section with access rules that is left out because its module is unknown; other remarks are discarded.
    fn has_module(&mut self, item: &ApacheItem) -> bool {
        let known = self.walk.remarks.len();
        let is_read = self.walk.has_module(item);
        let remarks = self.walk.remarks.drain(known..).filter(|remark| remark.is_missing);
        self.found.remarks.extend(remarks);
        is_read
    }

    /// Reads a section whose condition is not evaluated, because it applies only to some requests or to servers with
    /// other options. Its denials are always applied, its admissions never.
    fn conditional(&mut self, item: &ApacheItem, inner: &[ApacheItem], scope: &mut Scope<'_>) {
        let before = self.found.names.len();
        let access = self.scope(inner, scope.is_folder);
        for (is_denied, access) in scope.denied.iter_mut().zip(access) {
            *is_denied |= access == Some(false);
        }
        let names = self.found.names.split_off(before);
        if access == [None; MODULES] && names.is_empty() {
            return;
        }
        let denials =
            names.into_iter().map(|(name, access)| (name, access.map(|access| access.filter(|may| !may))));
        self.found.names.extend(denials.filter(|(_, access)| *access != [None; MODULES]));
        let reason = "the condition of this section is not evaluated: what it denies is denied to every client, what it admits is ignored";
        self.found.remarks.push(Remark::missing(item.line, &item.text, reason));
    }

    fn files(&mut self, item: &ApacheItem, inner: &[ApacheItem]) {
        let access = self.scope(inner, false);
        if access == [None; 2] {
            return;
        }
        let is_regex = item.word(0) == "~";
        let first = item.word(usize::from(is_regex));
        let regex = if is_regex || item.is("FilesMatch") {
            Ok(first.to_owned())
        } else {
            glob_regex(first).map(|name| format!("^{name}$"))
        };
        self.add(item, regex.map(FilePattern::File), access);
    }

    /// Adds a rule `RewriteRule PATTERN -` with the flag `F` or `G`. Other rules, and negated patterns, are ignored.
    fn rule(&mut self, item: &ApacheItem) {
        let flags = item.words.get(2..).unwrap_or_default().join("").to_ascii_uppercase();
        let flags = flags.trim_matches(['[', ']']).split(',').map(str::trim);
        let denies = flags.clone().any(|flag| matches!(flag, "F" | "FORBIDDEN" | "G" | "GONE"));
        let pattern = item.word(0);
        if !denies || item.word(1) != "-" || pattern.starts_with('!') {
            return;
        }
        let no_case = if flags.clone().any(|flag| matches!(flag, "NC" | "NOCASE")) { "(?i)" } else { "" };
        self.add(item, Ok(FilePattern::Path(format!("{no_case}{pattern}"))), [Some(false), None]);
    }

    fn add(&mut self, item: &ApacheItem, name: Result<FilePattern, String>, access: AccessByModule) {
        let checked = match name {
            Ok(_) if self.found.names.len() >= MAX_RULES => {
                Err("the file has more than 64 sections and rules".to_owned())
            }
            Ok(name) if name.regex("/").is_none() => {
                Err("its regular expression is too long, or uses syntax that is not supported here"
                    .to_owned())
            }
            told => told,
        };
        match checked {
            Ok(name) => self.found.names.push((name, access)),
            Err(reason) => self.found.remarks.push(Remark::missing(item.line, &item.text, reason)),
        }
    }
}

impl FilePattern {
    /// Returns a regex for the complete URL path. `base` is a regex for the path of the folder. Returns `None` if the
    /// pattern cannot be used.
    pub(super) fn regex(&self, base: &str) -> Option<String> {
        let (Self::File(regex) | Self::Path(regex)) = self;
        let of_name = file_name_regex(regex, base)?;
        if let Self::File(_) = self {
            return Some(of_name);
        }
        let (case, regex) = regex.strip_prefix("(?i)").map_or(("", regex.as_str()), |rest| ("(?i)", rest));
        below(regex, base).map(|regex| format!("{case}{regex}"))
    }
}

impl AccessDenials {
    /// Returns whether the file denies access to any path.
    pub fn is_denying(&self) -> bool {
        let all = std::iter::once(&self.folder).chain(self.names.iter().map(|(_, access)| access));
        all.flatten().any(|access| *access == Some(false))
    }

    /// Returns whether the file denies the whole folder, except for files that sections admit.
    pub fn denies_folder(&self) -> bool {
        self.folder.contains(&Some(false))
    }

    /// Adds a remark about the whole file.
    #[must_use]
    pub fn with_remark(mut self, reason: String) -> Self {
        self.remarks.push(Remark::missing(0, "the file", reason));
        self
    }

    /// Removes the rules for the whole folder, and retains those for files.
    #[must_use]
    pub fn without_folder(self) -> Self {
        Self { folder: [None; 2], ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::super::denied_paths::denied_paths;
    use super::*;

    /// Returns the regexes of the paths that a `.htaccess` with this text denies in the folder `/up/`, joined by `|`.
    fn regex(text: &str) -> String {
        denied_paths(&[("/up/".to_owned(), read(text))], &[], |_| true).regexes.join("|")
    }

    fn read(text: &str) -> AccessDenials {
        denials(text, PartialAccess::Denied)
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
        for text in ["Options -Indexes", "Require all granted", "Order deny,allow", "allow from all", ""] {
            assert!(!read(text).is_denying(), "{text}");
            assert_eq!(regex(text), "");
        }
    }

    #[test]
    fn sections_of_files_make_exceptions() {
        let denied = regex(
            "deny from all\n<FilesMatch '\\.(jpg|png)$'>\nOrder Allow,Deny\nAllow from all\n</FilesMatch>",
        );
        let images = r"^/up/(?:.*/)?(?=[^/]*(?:$|\.php/))[^/]*?\.(jpg|png)(?:$|(?<=\.php)/)";
        assert_eq!(denied, format!("(?!(?:{images}))(?:(?:^/up/))"));
        let denied = regex(
            "<Files ~ \"^secret\">\nRequire all denied\n</Files>\n<Files *.php>\nRequire all denied\n</Files>",
        );
        assert!(denied.contains("php/))secret") && denied.contains(r"[^/]*\.php(?:$"), "{denied}");
        assert!(!read("<LimitExcept GET>\ndeny from all\n</LimitExcept>").is_denying());
        let denied = regex(
            "RewriteEngine on\nRewriteRule ^(.*)\\.pdf$ - [F,L]\nRewriteCond %{A} b\nRewriteRule x - [F]\nRewriteRule y /z [L]",
        );
        assert_eq!(denied, r"(?:^/up/(.*)\.pdf$)");
    }

    #[test]
    fn what_holds_for_some_clients_is_denied_to_all_with_a_remark() {
        for text in [
            "Require ip 10.0.0.0/8",
            "Order deny,allow\ndeny from all\nallow from 10.1",
            "Require valid-user",
            "Require host a.b",
        ] {
            let found = denials(text, PartialAccess::Denied);
            assert!(found.denies_folder() && found.remarks.len() == 1, "{text}: {found:?}");
        }
        assert!(!denials("Require ip 10.0.0.0/8", PartialAccess::Admitted).is_denying());
        let found = read("Order allow,deny\nallow from all\ndeny from 10.0.0.1");
        assert!(!found.is_denying() && found.remarks.len() == 1, "{found:?}");
    }

    #[test]
    fn sections_for_versions_are_evaluated_and_denials_under_other_conditions_apply() {
        let of_version = |version: &str, text: &str| format!("<IfVersion {version}>\n{text}\n</IfVersion>\n");
        let told = read(
            &[of_version(">= 2.4", "Require all denied"), of_version("< 2.4", "Deny from all")].concat(),
        );
        assert_eq!((told.folder, told.remarks.len()), ([Some(false), None], 0));
        assert!(!read(&of_version("< 2.4", "Order deny,allow\nDeny from all")).is_denying());
        for section in
            ["IfVersion ~ ^2", "IfDefine X", "If \"%{REQUEST_URI} =~ /x/\"", "ElseIf y", "Else", "IfFile z"]
        {
            let name = section.split(' ').next().expect("a name");
            let with = |text: &str| read(&format!("Require all granted\n<{section}>\n{text}\n</{name}>\n"));
            let told = with("Require all denied");
            assert!(told.denies_folder() && told.remarks.len() == 1, "{section}: {told:?}");
            assert!(told.remarks[0].line == 2 && told.remarks[0].text.contains(name), "{told:?}");
            let told =
                with("<Files a.pdf>\nRequire all denied\n</Files>\n<Files b>\nRequire all granted\n</Files>");
            assert_eq!(
                (told.folder, told.names.len(), told.remarks.len()),
                ([Some(true), None], 1, 1),
                "{section}"
            );
            let told = read(&format!("Require all denied\n<{section}>\nRequire all granted\n</{name}>\n"));
            assert!(told.denies_folder() && told.remarks.len() == 1, "{section}: {told:?}");
            assert_eq!(with("Options -Indexes").remarks, [], "{section}");
        }
        let told = read(&format!("<Files a>\n<If x>\nRequire all denied\n</If>\n</Files>\n{}", "<If y>\n"));
        assert!(told.is_denying() && told.remarks.len() == 2, "the last section is not closed: {told:?}");
        assert!(read("<LimitExcept POST>\nDeny from all\n</LimitExcept>").denies_folder());
    }

    #[test]
    fn sections_that_are_left_out_are_reported() {
        let told = read(
            "<IfModule mod_foreign.c>\nDeny from all\n</IfModule>\n<IfModule mod_foreign.c>\nA b\n</IfModule>",
        );
        assert!(!told.is_denying() && told.remarks.len() == 1 && told.remarks[0].line == 1, "{told:?}");
        let told = read("</Files>\nDeny from all");
        assert!(told.denies_folder() && told.remarks.len() == 1, "{told:?}");
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
            let found = read(&format!("<FilesMatch \"{regex}\">\nRequire all denied\n</FilesMatch>"));
            assert!(!found.is_denying() && found.remarks.len() == 1, "{regex}: {found:?}");
        }
        for regex in [r"(?i)\.(php|phtml)$", "^(a|b)$", r"^\.", "[(?]", "^(?!a)b", r"(?<=\.)gz$"] {
            assert!(
                read(&format!("<FilesMatch \"{regex}\">\nRequire all denied\n</FilesMatch>")).is_denying(),
                "{regex}"
            );
        }
    }
}
