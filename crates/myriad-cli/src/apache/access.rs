//! Translation of access control: `Require`, `Order`, `Allow`, `Deny`, `Auth*`.
//!
//! Apache has two access modules, both of which must admit a client. `Require` is translated to the variable `$access`,
//! and `Order`, `Allow` and `Deny` to `$allowed`; each is `1` or empty (denied). In a section, the directives of a
//! module replace those of the enclosing section, as in Apache.

use myriad_base::digits::decimal;

use crate::apache::expand::env_variable;
use crate::apache::lines::ApacheItem;
use crate::apache::pattern::{quoted, word};
use crate::apache::site::{Remark, TranslatedEntry};
use crate::apache::state::{ApacheWalk, AuthState};

const NOT_ALL: &str = "A line is not translated, so all clients are denied.";

/// Access directives of a section, or of the whole file.
#[derive(Debug, Default)]
pub(crate) struct AccessRules {
    require: RequireRules,
    order: OrderRules,
}

/// `Require` directives of a section or of the whole file.
#[derive(Debug, Default)]
struct RequireRules {
    of: Vec<(usize, String)>,
    /// `Require` lines that admit clients, each with these clients. One matching line is sufficient, unless `all` is
    /// true.
    any: Vec<(ApacheItem, Vec<ClientSet>)>,
    forbid: Vec<ClientSet>,
    /// True if all lines must match, false if one is sufficient.
    all: bool,
    user: bool,
    /// True if a directive could not be translated, so that all clients are denied.
    closed: bool,
}

/// `Order`, `Allow` and `Deny` directives of a section or of the whole file.
#[derive(Debug, Default)]
struct OrderRules {
    of: Vec<(usize, String)>,
    /// True for `Order deny,allow`, false for any other order, such as `allow,deny`; `None` without `Order`, which
    /// means `deny,allow`.
    allows_last: Option<bool>,
    allow: Vec<ClientSet>,
    deny: Vec<ClientSet>,
    /// True if a directive could not be translated, so that all clients are denied.
    closed: bool,
}

/// Clients that an access directive names: all clients, clients in networks, or clients with a request for which an
/// environment variable is set.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ClientSet {
    All,
    Networks(Vec<String>),
    Env(String),
}

impl AccessRules {
    /// Handles an access directive. Returns false for other directives, also for `AuthBasicProvider` with a provider
    /// other than `file`.
    pub(crate) fn take(&mut self, walk: &mut ApacheWalk<'_>, item: &ApacheItem) -> bool {
        match item.name.to_ascii_lowercase().as_str() {
            "require" => self.require.take(walk, item),
            "order" | "allow" | "deny" | "satisfy" => self.order.take(walk, item),
            "authtype" | "authname" | "authuserfile" => {
                let value = item.word(0).to_owned();
                match item.name.to_ascii_lowercase().as_str() {
                    "authtype" => walk.auth.kind = value.to_ascii_lowercase(),
                    "authname" => walk.auth.name = Some(value),
                    _ => walk.auth.file = Some(value),
                }
                walk.auth.of.push((item.line, item.text.clone()));
            }
            "authgroupfile" | "authdigestprovider" => {
                self.require.close_untranslated(
                    walk,
                    item,
                    "group files and digest authentication have no counterpart",
                );
            }
            "authbasicprovider" if item.word(0).eq_ignore_ascii_case("file") => {
                self.require.of.push((item.line, item.text.clone()));
            }
            _ => return false,
        }
        true
    }

    /// Handles the `Require` lines in `<RequireAll>`, `<RequireAny>` and `<RequireNone>`. Any other line in them, and
    /// `Require valid-user` in `<RequireNone>`, is reported, and all clients are denied.
    pub(crate) fn nested(&mut self, walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
        self.require.nested(walk, item);
    }
}

/// Clients that a section admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessVerdict {
    All,
    /// All clients except some, by address or variable.
    AllBut,
    /// Some clients, by address, variable or password; also used if a directive cannot be translated.
    Some,
    None,
}

impl AccessRules {
    /// Returns the clients that `Require` admits, then the clients that `Order`, `Allow` and `Deny` admit; `None` for a
    /// module without directives.
    pub(crate) fn verdicts(&self) -> [Option<AccessVerdict>; 2] {
        [self.require.verdict(), self.order.verdict()]
    }
}

/// Returns the clients that `steps` admit. The last matching step decides; a client that no step matches is admitted if
/// `start` is true.
fn verdict(start: bool, steps: &[(ClientSet, bool)]) -> AccessVerdict {
    let from = steps.iter().rposition(|(who, _)| *who == ClientSet::All);
    let (start, steps) = from.map_or((start, steps), |at| (steps[at].1, &steps[at + 1..]));
    match (start, steps.iter().all(|(_, may)| *may == start)) {
        (true, true) => AccessVerdict::All,
        (false, true) => AccessVerdict::None,
        (true, false) => AccessVerdict::AllBut,
        (false, false) => AccessVerdict::Some,
    }
}

impl RequireRules {
    fn verdict(&self) -> Option<AccessVerdict> {
        if self.user || self.closed {
            return Some(AccessVerdict::Some);
        }
        match self.steps() {
            Ok(steps) if steps.is_empty() => None,
            Ok(steps) => Some(verdict(false, &steps)),
            Err(_) => Some(AccessVerdict::Some),
        }
    }

    fn take(&mut self, walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
        self.of.push((item.line, item.text.clone()));
        let rest = item.words.get(1..).unwrap_or_default();
        let clients = match item.word(0).to_ascii_lowercase().as_str() {
            "all" if item.word(1).eq_ignore_ascii_case("granted") => Ok(vec![ClientSet::All]),
            "all" => return self.forbid.push(ClientSet::All),
            "ip" => networks(rest),
            "local" => networks(&["127.0.0.0/8".to_owned(), "::1".to_owned()]),
            "env" => variables(rest),
            "valid-user" => {
                self.user = true;
                return;
            }
            "not" => {
                let rest = rest.get(1..).unwrap_or_default();
                let excluded = match item.word(1).to_ascii_lowercase().as_str() {
                    "ip" => networks(rest),
                    "env" => variables(rest),
                    _ => Err("after \"not\", only ip and env are translated"),
                };
                match excluded {
                    Ok(who) => self.forbid.extend(who),
                    Err(reason) => self.close_untranslated(walk, item, reason),
                }
                return;
            }
            "host" => Err("host names are not supported: write their addresses"),
            "user" | "group" => {
                Err("create a password file with only these users, and use Require valid-user")
            }
            _ => Err("this kind of Require has no counterpart"),
        };
        match clients {
            Ok(who) => self.any.push((item.clone(), who)),
            Err(reason) => self.close_untranslated(walk, item, reason),
        }
    }

    fn nested(&mut self, walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
        self.all |= item.is("RequireAll");
        self.of.push((item.line, item.text.clone()));
        for inner in item.inner.as_deref().unwrap_or_default() {
            if inner.inner.is_some() || !inner.is("Require") {
                self.close_untranslated(walk, inner, "only Require is translated in this section");
                continue;
            }
            let before = self.any.len();
            if item.is("RequireNone") && inner.word(0).eq_ignore_ascii_case("valid-user") {
                self.close_untranslated(
                    walk,
                    inner,
                    "a condition on clients without a password has no counterpart",
                );
            } else {
                self.take(walk, inner);
            }
            if item.is("RequireNone") {
                self.forbid.extend(self.any.drain(before..).flat_map(|(_, who)| who));
            }
        }
    }

    fn close_untranslated(&mut self, walk: &mut ApacheWalk<'_>, item: &ApacheItem, reason: &str) {
        self.closed = true;
        closing(walk, item, reason);
    }

    /// Returns steps of clients and whether each admits them. The last matching step decides; clients that no step
    /// matches are denied.
    ///
    /// # Errors
    /// If several lines that name particular clients must all match, which cannot be translated, returns the first of
    /// these lines.
    fn steps(&self) -> Result<Vec<(ClientSet, bool)>, &ApacheItem> {
        let is_all = |who: &[ClientSet]| who.contains(&ClientSet::All);
        let mut lines: Vec<&(ApacheItem, Vec<ClientSet>)> = self.any.iter().collect();
        if self.all {
            // If all lines must match, a line that matches all clients has no effect besides another line.
            let named: Vec<_> = lines.iter().copied().filter(|(_, who)| !is_all(who)).collect();
            if let [(item, _), _, ..] = named[..] {
                return Err(item);
            }
            if !named.is_empty() {
                lines = named;
            }
        }
        let may = lines.into_iter().flat_map(|(_, who)| who).map(|who| (who.clone(), true));
        Ok(may.chain(self.forbid.iter().map(|who| (who.clone(), false))).collect())
    }

    /// Adds the translation of the `Require` directives to the parts of the server.
    fn emit(mut self, walk: &mut ApacheWalk<'_>) {
        if self.user && !self.closed {
            return password(walk, self);
        }
        if !self.closed
            && let Err(item) = self.steps()
        {
            let item = item.clone();
            self.close_untranslated(
                walk,
                &item,
                "several conditions that must all match are not translated: write them by hand",
            );
        }
        if self.closed {
            return deny_all(walk, AccessModule::Require, self.of);
        }
        let steps = self.steps().unwrap_or_default();
        if !steps.is_empty() {
            write(walk, AccessModule::Require, self.of, false, &steps);
        }
    }
}

impl OrderRules {
    fn take(&mut self, walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
        self.of.push((item.line, item.text.clone()));
        if item.is("Order") {
            let order = item.words.join("").replace(' ', "").to_ascii_lowercase();
            self.allows_last = Some(order == "deny,allow");
        } else if item.is("Satisfy") {
            if !item.word(0).eq_ignore_ascii_case("all") {
                self.close_untranslated(
                    walk,
                    item,
                    "write satisfy any, with allow, deny and auth_basic, in a location",
                );
            }
        } else {
            let from = usize::from(item.word(0).eq_ignore_ascii_case("from"));
            match visitors(&item.words[from..]) {
                Ok(who) if item.is("Allow") => self.allow.extend(who),
                Ok(who) => self.deny.extend(who),
                Err(reason) => self.close_untranslated(walk, item, reason),
            }
        }
    }

    fn close_untranslated(&mut self, walk: &mut ApacheWalk<'_>, item: &ApacheItem, reason: &str) {
        self.closed = true;
        closing(walk, item, reason);
    }

    /// Returns whether a client that no step matches is admitted, and the steps; `None` without a directive.
    fn steps(&self) -> Option<(bool, Vec<(ClientSet, bool)>)> {
        if self.allows_last.is_none() && self.allow.is_empty() && self.deny.is_empty() {
            return None;
        }
        let last = self.allows_last.unwrap_or(true);
        let allow = self.allow.iter().map(|who| (who.clone(), true));
        let deny = self.deny.iter().map(|who| (who.clone(), false));
        Some((last, if last { deny.chain(allow).collect() } else { allow.chain(deny).collect() }))
    }

    fn verdict(&self) -> Option<AccessVerdict> {
        if self.closed {
            return Some(AccessVerdict::Some);
        }
        self.steps().map(|(start, steps)| verdict(start, &steps))
    }

    /// Adds the translation of `Order`, `Allow` and `Deny` to the parts of the server.
    fn emit(self, walk: &mut ApacheWalk<'_>) {
        if self.closed {
            return deny_all(walk, AccessModule::Order, self.of);
        }
        let Some((last, steps)) = self.steps() else { return };
        write(walk, AccessModule::Order, self.of, last, &steps);
    }
}

/// Reports a line that cannot be translated, and that all clients are denied for this reason.
fn closing(walk: &mut ApacheWalk<'_>, item: &ApacheItem, reason: &str) {
    walk.missing(item, &format!("{reason}; until then all clients are denied (403)"));
}

/// Parses the words of `Allow` and `Deny`: addresses, `all`, `env=NAME`. Returns an error text for a host name, for a
/// negated variable (`env=!NAME`), or if there are no words.
fn visitors(words: &[String]) -> Result<Vec<ClientSet>, &'static str> {
    let (mut who, mut addresses) = (Vec::new(), Vec::new());
    for word in words {
        let lower = word.to_ascii_lowercase();
        if lower == "all" {
            who.push(ClientSet::All);
        } else if lower.starts_with("env=!") {
            return Err("negated variables are not translated: use a variable with the opposite meaning");
        } else if let Some(name) = lower.strip_prefix("env=") {
            who.push(ClientSet::Env(env_variable(name)));
        } else {
            addresses.push(word.clone());
        }
    }
    if who.is_empty() || !addresses.is_empty() {
        who.extend(networks(&addresses)?);
    }
    Ok(who)
}

/// Parses the arguments of `Require env`, the names of variables. Returns an error text if there are none.
fn variables(words: &[String]) -> Result<Vec<ClientSet>, &'static str> {
    let names: Vec<ClientSet> = words.iter().map(|word| ClientSet::Env(env_variable(word))).collect();
    if names.is_empty() { Err("the name of the variable is missing") } else { Ok(names) }
}

/// Converts addresses to networks in nginx's form: `10.1` becomes `10.1.0.0/16`, and masks become prefix lengths.
/// Returns an error text if a word is not an address or network, or if there are no words.
fn networks(words: &[String]) -> Result<Vec<ClientSet>, &'static str> {
    let converted: Option<Vec<String>> = words.iter().map(|word| network(word)).collect();
    converted
        .filter(|list| !list.is_empty())
        .map(|list| vec![ClientSet::Networks(list)])
        .ok_or("host names are not supported: write their addresses")
}

fn network(word: &str) -> Option<String> {
    let (address, prefix) =
        word.split_once('/').map_or((word, None), |(address, prefix)| (address, Some(prefix)));
    if address.contains(':') {
        let address: std::net::Ipv6Addr = address.parse().ok()?;
        let prefix: u32 = prefix.map_or(Some(128), decimal).filter(|prefix| *prefix <= 128)?;
        return Some(format!("{address}/{prefix}"));
    }
    let parts: Vec<&str> = address.trim_end_matches('.').split('.').collect();
    let numbers: Option<Vec<u8>> = parts.iter().map(decimal).collect();
    let mut numbers = numbers.filter(|numbers| numbers.len() <= 4)?;
    let bits = match prefix {
        None => numbers.len() as u32 * 8,
        Some(mask) if mask.contains('.') => {
            let mask = u32::from(mask.parse::<std::net::Ipv4Addr>().ok()?);
            (mask.leading_ones() + mask.trailing_zeros() >= 32).then(|| mask.leading_ones())?
        }
        Some(bits) => decimal(bits).filter(|bits| *bits <= 32)?,
    };
    numbers.resize(4, 0);
    let [a, b, c, d] = numbers[..] else { return None };
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    let address = std::net::Ipv4Addr::from(u32::from(std::net::Ipv4Addr::new(a, b, c, d)) & mask);
    Some(format!("{address}/{bits}"))
}

/// Access module of Apache.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessModule {
    Require,
    Order,
}

impl AccessModule {
    /// Returns the name of the nginx variable that is `1` if the module admits the client, and empty otherwise.
    fn variable(self) -> &'static str {
        match self {
            Self::Require => "access",
            Self::Order => "allowed",
        }
    }
}

/// Adds the translation of the access directives of a section or file to the parts of the server.
pub(crate) fn emit(walk: &mut ApacheWalk<'_>, access: AccessRules) {
    access.order.emit(walk);
    access.require.emit(walk);
}

fn deny_all(walk: &mut ApacheWalk<'_>, family: AccessModule, of: Vec<(usize, String)>) {
    let lines = walk.guarded(&[format!("set ${} \"\";", family.variable())]);
    push(walk, family, of, NOT_ALL, lines);
}

fn write(
    walk: &mut ApacheWalk<'_>,
    family: AccessModule,
    of: Vec<(usize, String)>,
    start: bool,
    steps: &[(ClientSet, bool)],
) {
    // Steps before one that matches all clients have no effect.
    let from = steps.iter().rposition(|(who, _)| *who == ClientSet::All);
    let (start, steps) = from.map_or((start, steps), |at| (steps[at].1, &steps[at + 1..]));
    let mut lines = walk.guarded(&[format!("set ${} {};", family.variable(), sign(start))]);
    for (who, may) in steps {
        lines.extend(step(walk, family, who, *may));
    }
    let why = match (start, steps.is_empty()) {
        (true, true) => "Allows all clients.",
        (false, true) => "Denies all clients (403).",
        (true, false) => "Allows all clients except the listed ones.",
        (false, false) => "Denies all clients except the listed ones.",
    };
    push(walk, family, of, why, lines);
}

fn sign(may: bool) -> &'static str {
    if may { "1" } else { "\"\"" }
}

/// Returns the lines that set the module's variable to `may` for these clients; none for [`ClientSet::All`]. For
/// networks it also adds a `geo` block to the parts of `http`.
fn step(walk: &mut ApacheWalk<'_>, family: AccessModule, who: &ClientSet, may: bool) -> Vec<String> {
    let variable = match who {
        ClientSet::All => return Vec::new(),
        ClientSet::Env(name) => {
            walk.parts.env_read.insert(name.clone());
            name.clone()
        }
        ClientSet::Networks(networks) => {
            let name = format!("among_{}", walk.number());
            let mut lines = vec![format!("geo ${name} {{"), "    default \"\";".to_owned()];
            lines.extend(networks.iter().map(|network| format!("    {network} 1;")));
            lines.push("}".to_owned());
            walk.parts.http.push(TranslatedEntry {
                of: Vec::new(),
                why: "Set if the client address is in one of these networks.".into(),
                lines,
            });
            name
        }
    };
    if walk.guards.is_empty() {
        return vec![format!("if (${variable}) {{ set ${} {}; }}", family.variable(), sign(may))];
    }
    let mut lines = vec!["set $both \"\";".to_owned(), format!("if (${variable}) {{ set $both 1; }}")];
    lines.extend(walk.guards.iter().map(|guard| format!("if ({}) {{ set $both \"\"; }}", guard.fails)));
    lines.push(format!("if ($both) {{ set ${} {}; }}", family.variable(), sign(may)));
    lines
}

/// Writes the directives of `AuthType Basic` with a single `Require valid-user`. For other combinations, and for a
/// second password file, the line is reported and all clients are denied.
fn password(walk: &mut ApacheWalk<'_>, required: RequireRules) {
    let RequireRules { of: own, any, forbid, .. } = required;
    let AuthState { mut of, kind, name, file } = walk.auth.clone();
    of.extend(own);
    // With a variable in its name, the client could choose the password file.
    let file = file.filter(|file| (kind == "basic" || kind.is_empty()) && !file.contains('$'));
    let (Some(file), true) = (file, any.is_empty() && forbid.is_empty()) else {
        if let Some((line, text)) = of.last().cloned() {
            let reason = "only AuthType Basic with AuthUserFile (without a \"$\") and a single Require valid-user is translated; until \
                 then all clients are denied (403)";
            walk.remarks.push(Remark::missing(line, &text, reason));
        }
        return deny_all(walk, AccessModule::Require, of);
    };
    let name = realm(name.as_deref().unwrap_or_default());
    if walk.parts.settings.iter().any(|entry| entry.lines.iter().any(|line| line.starts_with("auth_basic ")))
    {
        if let Some((line, text)) = of.last().cloned() {
            walk.remarks.push(Remark::missing(
                line,
                &text,
                "a second password file is not translated: write a location; until then all clients are denied (403)",
            ));
        }
        return deny_all(walk, AccessModule::Require, of);
    }
    if walk.guards.is_empty() {
        let lines =
            vec![format!("auth_basic {};", quoted(&name)), format!("auth_basic_user_file {};", word(&file))];
        walk.parts.settings.push(TranslatedEntry {
            of,
            why: "Requires a user name and a password.".into(),
            lines,
        });
        return;
    }
    let mut lines = vec!["set $realm off;".to_owned()];
    lines.extend(walk.guarded(&[format!("set $realm {};", quoted(&name))]));
    walk.parts.env.push(TranslatedEntry {
        of,
        why: "Requires a user name and a password, only in this section.".into(),
        lines,
    });
    let lines = vec!["auth_basic $realm;".to_owned(), format!("auth_basic_user_file {};", word(&file))];
    walk.parts.settings.push(TranslatedEntry {
        of: Vec::new(),
        why: "Requires a password if $realm is not \"off\".".into(),
        lines,
    });
}

/// Returns the realm without `$` and control characters; `restricted` if it is empty or `off`, which would disable
/// authentication in nginx.
fn realm(name: &str) -> String {
    let name: String = name.chars().filter(|letter| *letter != '$' && !letter.is_control()).collect();
    if name.is_empty() || name.eq_ignore_ascii_case("off") { "restricted".into() } else { name }
}

fn push(
    walk: &mut ApacheWalk<'_>,
    family: AccessModule,
    of: Vec<(usize, String)>,
    why: &str,
    mut lines: Vec<String>,
) {
    let known = &mut walk.parts.access_variables;
    if !known.contains(&family.variable()) {
        known.push(family.variable());
        lines.insert(0, format!("set ${} 1;", family.variable()));
    }
    walk.parts.access.push(TranslatedEntry { of, why: why.to_owned(), lines });
}
