//! The configuration of the sites as a whole: who serves, where visitors connect, what the process needs, the preset filled in.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::checked::Checked;
use super::https::{self, Https, SelfSigned};
use super::options::Options;
use super::prefix::{default_prefix, pid_file};
use super::quoting::quoted;
use super::user::{self, Choice, Need};
use crate::accounts;

/// A configuration made for one site.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The whole configuration, and all that `--print` shows: what the process itself needs, then the preset filled in.
    pub(crate) text: Vec<u8>,
    /// Folder of cache, logs and pid file.
    pub(crate) prefix: PathBuf,
    /// What may be wrong but does not stand in the way, each a sentence.
    pub(crate) warnings: Vec<String>,
    /// A certificate to be made before the start.
    pub(crate) self_signed: Option<SelfSigned>,
    /// The user who serves, where root starts the server.
    pub(super) choice: Option<Choice>,
}

impl Options {
    /// Checks the sites and fills in the preset; an error says what to do about it.
    pub(crate) fn site(&self) -> Result<Site, String> {
        let mut warnings = Vec::new();
        let sites = self.checked(&mut warnings)?;
        let domains = sites.iter().flat_map(|site| site.domains.clone()).collect();
        let https = Https { domains, ..self.https.clone() };
        https.check()?;
        let as_root = rustix::process::geteuid().is_root();
        let prefix = std::path::absolute(self.prefix.clone().unwrap_or_else(|| default_prefix(as_root)))
            .map_err(|error| format!("wordpress: --prefix: {error}"))?;
        self.check_user(as_root, &mut warnings)?;
        let choice = as_root.then(|| self.worker_user(&sites, &mut warnings));
        let words = [("--listen", &self.listen), ("--user", &self.user)];
        let words = words.into_iter().filter_map(|(option, value)| Some((option, value.as_deref()?)));
        for (option, value) in words.chain(https.words()) {
            if value.contains([';', '{', '}', '"', '\'', '#', '\\', '$', '\n']) {
                return Err(format!("wordpress: {option} \"{value}\" holds a character that none has"));
            }
        }
        let listens = (self.plain_listens(&https, as_root, &mut warnings), https.listens(as_root));
        // Certificates that come are worth a line.
        let level = if https.domains.is_empty() { "warn" } else { "notice" };
        let process = process_directives(&prefix, choice.as_ref(), level)?;
        let preset = self.filled(&sites, &https, &prefix, &listens)?;
        let names: Vec<String> = sites.iter().flat_map(|site| site.names.clone()).collect();
        let self_signed = https.self_signed(&prefix, &names);
        Ok(Site { text: (process + &preset).into_bytes(), prefix, warnings, self_signed, choice })
    }

    /// The addresses where visitors connect by http.
    fn plain_listens(&self, https: &Https, as_root: bool, warnings: &mut Vec<String>) -> Vec<String> {
        let usual = if as_root { "80" } else { "8080" };
        let listen = self.listen.as_deref().unwrap_or(usual);
        let mut listens = vec![listen.to_owned()];
        if https.domains.is_empty() {
            return listens;
        }
        if https::port(listen) != Some("80") {
            warnings.push(format!(
                "wordpress: authorities ask for {} on port 80, and --listen is {listen}: see to it that port 80 leads there",
                https.domains.join(", ")
            ));
        }
        let both = self.listen.is_none() && https::has_ipv6();
        listens.extend(both.then(|| format!("[::]:{usual}")));
        listens
    }

    /// `--user` names somebody whom root can become.
    fn check_user(&self, as_root: bool, warnings: &mut Vec<String>) -> Result<(), String> {
        let Some(user) = &self.user else { return Ok(()) };
        if !as_root {
            warnings.push(format!(
                "wordpress: --user {user} makes sense only where root starts the server, ignored"
            ));
            return Ok(());
        }
        accounts::Account::find(user, None).map(drop).map_err(|error| {
            format!("wordpress: --user {user}: {error}; name the user that php-fpm's pool runs as (`user =`)")
        })
    }

    /// Whose rights the worker has.
    fn worker_user(&self, sites: &[Checked], warnings: &mut Vec<String>) -> Choice {
        if let Some(choice) = self.user.as_deref().map(Choice::of).or_else(|| self.serving.clone()) {
            return choice;
        }
        let needs = sites.iter().map(|site| Need {
            socket: site.php.strip_prefix("unix:").map(PathBuf::from),
            root: site.root.clone(),
        });
        user::choose(&needs.collect::<Vec<_>>(), warnings)
    }
}

/// The directives of the process: in the foreground, errors on standard error, a pid file, and whose rights the worker takes where
/// root starts it.
fn process_directives(prefix: &Path, user: Option<&Choice>, level: &str) -> Result<String, String> {
    let pid = quoted(&pid_file(Some(prefix)))?;
    let mut text = format!("daemon off;\nerror_log stderr {level};\npid {pid};\n");
    if let Some(user) = user {
        let _ = writeln!(text, "user {};", user.words());
    }
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_process_needs_is_one_directive_a_line() {
        let choice = Choice { user: "myriad".into(), group: Some("www-data".into()) };
        let text = process_directives(Path::new("/srv/my site"), Some(&choice), "warn").expect("text");
        assert_eq!(
            text,
            "daemon off;\nerror_log stderr warn;\npid \"/srv/my site/myriad.pid\";\nuser myriad www-data;\n\n"
        );
        assert!(!process_directives(Path::new("/srv"), None, "warn").expect("text").contains("user"));
    }
}
