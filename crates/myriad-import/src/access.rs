//! Who may: `Require`, `Order`, `Allow`, `Deny`, `Auth*`.
//!
//! All comes to the variable `$access`, `1` or empty, which each section sets anew; the last word counts, as in Apache.

use crate::expand::env_variable;
use crate::lines::Item;
use crate::pattern::{quoted, word};
use crate::site::{Entry, Options, Remark};
use crate::state::{Auth, Walk};

/// What one scope says.
#[derive(Debug, Default)]
pub(crate) struct Access {
    of: Vec<(usize, String)>,
    /// `Order deny,allow` is `true`; not written: `false`, as Apache has it for `deny,allow`.
    allows_last: Option<bool>,
    allow: Vec<Who>,
    deny: Vec<Who>,
    require: Vec<(Item, Who)>,
    forbid: Vec<Who>,
    /// Whether all of `require` has to hold; one of it else.
    all: bool,
    user: bool,
    /// What could not be told: nobody may.
    closed: bool,
}

/// Visitors.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Who {
    All,
    Networks(Vec<String>),
    Env(String),
}

impl Access {
    /// Takes a directive, if it is about access.
    pub(crate) fn take(&mut self, walk: &mut Walk<'_>, item: &Item) -> bool {
        match item.name.to_ascii_lowercase().as_str() {
            "require" => self.require(walk, item),
            "order" => {
                let order = item.words.join("").replace(' ', "").to_ascii_lowercase();
                self.allows_last = Some(order == "deny,allow");
            }
            "allow" | "deny" => {
                let words = if item.word(0).eq_ignore_ascii_case("from") {
                    &item.words[1..]
                } else {
                    &item.words[..]
                };
                match who(words) {
                    Ok(who) if item.is("Allow") => self.allow.push(who),
                    Ok(who) => self.deny.push(who),
                    Err(reason) => self.cannot(walk, item, reason),
                }
            }
            "satisfy" if item.word(0).eq_ignore_ascii_case("all") => {}
            "satisfy" => {
                self.cannot(walk, item, "write satisfy any, with allow, deny and auth_basic, in a location");
            }
            "authtype" | "authname" | "authuserfile" => {
                let value = item.word(0).to_owned();
                match item.name.to_ascii_lowercase().as_str() {
                    "authtype" => walk.auth.kind = value.to_ascii_lowercase(),
                    "authname" => walk.auth.name = Some(value),
                    _ => walk.auth.file = Some(value),
                }
                walk.auth.of.push((item.line, item.text.clone()));
                return true;
            }
            "authgroupfile" | "authdigestprovider" => {
                self.cannot(walk, item, "groups and digests have no counterpart");
            }
            "authbasicprovider" if item.word(0).eq_ignore_ascii_case("file") => {}
            _ => return false,
        }
        self.of.push((item.line, item.text.clone()));
        true
    }

    fn require(&mut self, walk: &mut Walk<'_>, item: &Item) {
        let first = item.word(0).to_ascii_lowercase();
        let rest = item.words.get(1..).unwrap_or_default();
        match first.as_str() {
            "all" if item.word(1).eq_ignore_ascii_case("granted") => {
                self.require.push((item.clone(), Who::All));
            }
            "all" => self.forbid.push(Who::All),
            "ip" => match networks(rest) {
                Ok(who) => self.require.push((item.clone(), who)),
                Err(reason) => self.cannot(walk, item, reason),
            },
            "local" => {
                let local = Who::Networks(vec!["127.0.0.0/8".into(), "::1".into()]);
                self.require.push((item.clone(), local));
            }
            "env" => self.require.push((item.clone(), Who::Env(env_variable(item.word(1))))),
            "valid-user" => self.user = true,
            "not" => {
                let who = match item.word(1).to_ascii_lowercase().as_str() {
                    "ip" => networks(item.words.get(2..).unwrap_or_default()),
                    "env" => Ok(Who::Env(env_variable(item.word(2)))),
                    _ => Err("only ip and env are told behind \"not\""),
                };
                match who {
                    Ok(who) => self.forbid.push(who),
                    Err(reason) => self.cannot(walk, item, reason),
                }
            }
            "host" => self.cannot(walk, item, "names of hosts are not asked of: write their addresses"),
            "user" | "group" => self.cannot(
                walk,
                item,
                "write a file of passwords with these users alone, and Require valid-user",
            ),
            _ => self.cannot(walk, item, "this kind of Require has no counterpart"),
        }
    }

    /// `<RequireAll>` and its kin, one level deep.
    pub(crate) fn nested(&mut self, item: &Item) {
        self.all |= item.is("RequireAll");
        self.of.push((item.line, item.text.clone()));
        let mut nothing = NotTold::default();
        for inner in item.inner.as_deref().unwrap_or_default() {
            if inner.inner.is_some() || !inner.is("Require") {
                self.closed = true;
                continue;
            }
            let before = self.require.len();
            self.require_in(&mut nothing, inner);
            self.of.push((inner.line, inner.text.clone()));
            if item.is("RequireNone") {
                let required: Vec<_> = self.require.drain(before..).map(|(_, who)| who).collect();
                self.forbid.extend(required);
            }
        }
        self.closed |= nothing.any;
    }

    fn require_in(&mut self, nothing: &mut NotTold, item: &Item) {
        let options = Options::default();
        let mut found = Walk::apart(&options);
        self.require(&mut found, item);
        nothing.any |= !found.remarks.is_empty();
    }

    fn cannot(&mut self, walk: &mut Walk<'_>, item: &Item, reason: &str) {
        self.closed = true;
        walk.missing(item, &format!("{reason}; until then nobody may there (403)"));
    }
}

#[derive(Default)]
struct NotTold {
    any: bool,
}

fn who(words: &[String]) -> Result<Who, &'static str> {
    match words.first().map(|word| word.to_ascii_lowercase()) {
        Some(first) if first == "all" => Ok(Who::All),
        Some(first) if first.starts_with("env=!") => Err("write the opposite of the variable"),
        Some(first) if first.starts_with("env=") => Ok(Who::Env(env_variable(&first[4..]))),
        _ => networks(words),
    }
}

/// Addresses in nginx's form: `10.1` is `10.1.0.0/16`, masks are prefixes.
fn networks(words: &[String]) -> Result<Who, &'static str> {
    let told: Option<Vec<String>> = words.iter().map(|word| network(word)).collect();
    told.filter(|list| !list.is_empty())
        .map(Who::Networks)
        .ok_or("names of hosts are not asked of: write their addresses")
}

fn network(word: &str) -> Option<String> {
    let (address, prefix) =
        word.split_once('/').map_or((word, None), |(address, prefix)| (address, Some(prefix)));
    if address.contains(':') {
        let address: std::net::Ipv6Addr = address.parse().ok()?;
        let prefix: u32 =
            prefix.map_or(Some(128), |prefix| prefix.parse().ok()).filter(|prefix| *prefix <= 128)?;
        return Some(format!("{address}/{prefix}"));
    }
    let parts: Vec<&str> = address.trim_end_matches('.').split('.').collect();
    let numbers: Option<Vec<u8>> = parts.iter().map(|part| part.parse().ok()).collect();
    let mut numbers = numbers.filter(|numbers| numbers.len() <= 4)?;
    let bits = match prefix {
        None => numbers.len() as u32 * 8,
        Some(mask) if mask.contains('.') => {
            let mask = u32::from(mask.parse::<std::net::Ipv4Addr>().ok()?);
            (mask.leading_ones() + mask.trailing_zeros() >= 32).then(|| mask.leading_ones())?
        }
        Some(bits) => bits.parse().ok().filter(|bits| *bits <= 32)?,
    };
    numbers.resize(4, 0);
    let [a, b, c, d] = numbers[..] else { return None };
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    let address = std::net::Ipv4Addr::from(u32::from(std::net::Ipv4Addr::new(a, b, c, d)) & mask);
    Some(format!("{address}/{bits}"))
}

/// Writes what a scope says.
pub(crate) fn emit(walk: &mut Walk<'_>, access: Access) {
    let user = access.user;
    if access.closed {
        let lines = walk.guarded(&["set $access \"\";".to_owned()]);
        push(walk, access.of, "Not all of it can be told, so nobody may.", lines);
        return;
    }
    if user {
        return password(walk, access);
    }
    let old = access.allows_last.is_some() || !access.allow.is_empty() || !access.deny.is_empty();
    let mut steps: Vec<(Who, bool)> = Vec::new();
    let mut start = None;
    if old {
        let last = access.allows_last.unwrap_or(true);
        start = Some(last);
        let (allow, deny) = (
            access.allow.iter().map(|who| (who.clone(), true)),
            access.deny.iter().map(|who| (who.clone(), false)),
        );
        if last { steps.extend(deny.chain(allow)) } else { steps.extend(allow.chain(deny)) }
    } else if !access.require.is_empty() || !access.forbid.is_empty() {
        if access.all && access.require.iter().filter(|(_, who)| *who != Who::All).count() > 1 {
            let lines = walk.guarded(&["set $access \"\";".to_owned()]);
            if let Some((item, _)) = access.require.first() {
                walk.missing(item, "several conditions of which all must hold: write them by hand; until then nobody may (403)");
            }
            return push(walk, access.of, "Not all of it can be told, so nobody may.", lines);
        }
        start = Some(false);
        steps.extend(access.require.iter().map(|(_, who)| (who.clone(), true)));
        steps.extend(access.forbid.iter().map(|who| (who.clone(), false)));
    }
    let Some(start) = start else { return };
    let mut lines = Vec::new();
    // What everybody may or may not hides all steps before it.
    let from = steps.iter().rposition(|(who, _)| *who == Who::All);
    let (start, steps) = from.map_or((start, &steps[..]), |at| (steps[at].1, &steps[at + 1..]));
    lines.extend(walk.guarded(&[format!("set $access {};", sign(start))]));
    for (who, may) in steps {
        lines.extend(step(walk, who, *may));
    }
    let why = match (start, steps.is_empty()) {
        (true, true) => "Everybody may.",
        (false, true) => "Nobody may: 403.",
        (true, false) => "Everybody may but those that are named.",
        (false, false) => "Nobody may but those that are named.",
    };
    push(walk, access.of, why, lines);
}

fn sign(may: bool) -> &'static str {
    if may { "1" } else { "\"\"" }
}

/// Lines for some visitors.
fn step(walk: &mut Walk<'_>, who: &Who, may: bool) -> Vec<String> {
    let variable = match who {
        Who::All => return Vec::new(),
        Who::Env(name) => {
            walk.parts.env_read.insert(name.clone());
            name.clone()
        }
        Who::Networks(networks) => {
            let name = format!("among_{}", walk.number());
            let mut lines = vec![format!("geo ${name} {{"), "    default \"\";".to_owned()];
            lines.extend(networks.iter().map(|network| format!("    {network} 1;")));
            lines.push("}".to_owned());
            walk.parts.http.push(Entry {
                of: Vec::new(),
                why: "Visitors whose address is among these.".into(),
                lines,
            });
            name
        }
    };
    if walk.guards.is_empty() {
        return vec![format!("if (${variable}) {{ set $access {}; }}", sign(may))];
    }
    let mut lines = vec!["set $both \"\";".to_owned(), format!("if (${variable}) {{ set $both 1; }}")];
    lines.extend(walk.guards.iter().map(|guard| format!("if ({}) {{ set $both \"\"; }}", guard.fails)));
    lines.push(format!("if ($both) {{ set $access {}; }}", sign(may)));
    lines
}

/// `AuthType Basic` with `Require valid-user`.
fn password(walk: &mut Walk<'_>, access: Access) {
    let Access { of: own, require, forbid, .. } = access;
    let Auth { mut of, kind, name, file } = walk.auth.clone();
    of.extend(own);
    // A variable in the name of the file would be the visitor's choice.
    let file = file.filter(|file| (kind == "basic" || kind.is_empty()) && !file.contains('$'));
    let (Some(file), true) = (file, require.is_empty() && forbid.is_empty()) else {
        let lines = walk.guarded(&["set $access \"\";".to_owned()]);
        if let Some((line, text)) = of.last().cloned() {
            let reason = "only AuthType Basic with AuthUserFile (without a \"$\") and Require valid-user alone is told; until then nobody may (403)";
            walk.remarks.push(Remark::missing(line, &text, reason));
        }
        return push(walk, of, "Not all of it can be told, so nobody may.", lines);
    };
    let name = realm(name.as_deref().unwrap_or_default());
    if walk.parts.settings.iter().any(|entry| entry.lines.iter().any(|line| line.starts_with("auth_basic ")))
    {
        if let Some((line, text)) = of.last().cloned() {
            walk.remarks.push(Remark::missing(
                line,
                &text,
                "a second file of passwords: write a location; until then nobody may (403)",
            ));
        }
        let lines = walk.guarded(&["set $access \"\";".to_owned()]);
        return push(walk, of, "Not all of it can be told, so nobody may.", lines);
    }
    if walk.guards.is_empty() {
        let lines =
            vec![format!("auth_basic {};", quoted(&name)), format!("auth_basic_user_file {};", word(&file))];
        walk.parts.settings.push(Entry { of, why: "A name and a password are asked for.".into(), lines });
        return;
    }
    let mut lines = vec!["set $realm off;".to_owned()];
    lines.extend(walk.guarded(&[format!("set $realm {};", quoted(&name))]));
    walk.parts.env.push(Entry { of, why: "A name and a password are asked for, there alone.".into(), lines });
    let lines = vec!["auth_basic $realm;".to_owned(), format!("auth_basic_user_file {};", word(&file))];
    walk.parts.settings.push(Entry {
        of: Vec::new(),
        why: "Asks where $realm is not \"off\".".into(),
        lines,
    });
}

/// What visitors are told: never `off`, with which nobody would be asked.
fn realm(name: &str) -> String {
    let name: String = name.chars().filter(|letter| *letter != '$' && !letter.is_control()).collect();
    if name.is_empty() || name.eq_ignore_ascii_case("off") { "restricted".into() } else { name }
}

fn push(walk: &mut Walk<'_>, of: Vec<(usize, String)>, why: &str, mut lines: Vec<String>) {
    if walk.parts.access.is_empty() {
        lines.insert(0, "set $access 1;".to_owned());
    }
    walk.parts.access.push(Entry { of, why: why.to_owned(), lines });
}
