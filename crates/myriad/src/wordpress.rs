//! `myriad wordpress`: a site's folder and php-fpm's address in, the built-in preset out.

mod arguments;
mod authorities;
mod children;
mod https;
mod quoting;
mod running;
mod sites;
mod user;
mod values;

use std::fmt::Write;
use std::net::ToSocketAddrs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::accounts;
pub(crate) use arguments::parse;
use https::Https;
pub(crate) use https::SelfSigned;
use quoting::quoted;
pub(crate) use running::{Command, facts, greeting};
use user::{Choice, Need};

/// The preset, in the nginx language, with `{{tokens}}` that the command line fills in.
const PRESET: &str = include_str!("../../../presets/wordpress.conf");

/// What followed `myriad wordpress`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    root: PathBuf,
    php: String,
    children: Option<u32>,
    listen: Option<String>,
    names: Vec<String>,
    prefix: Option<PathBuf>,
    user: Option<String>,
    https: Https,
    /// `--site`, each a line as in the file of `--sites`.
    sites: Vec<String>,
    sites_file: Option<PathBuf>,
    /// The user who serves already, at a reload: another could not go on with the cache.
    serving: Option<Choice>,
    /// `--print`: show the configuration instead of running it.
    pub(crate) print: bool,
}

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
    choice: Option<Choice>,
}

/// What `myriad wordpress` runs: the text, and what makes it anew at a reload.
#[derive(Clone, Debug)]
pub(crate) struct Preset {
    pub(crate) text: Vec<u8>,
    options: Options,
}

impl Preset {
    /// The preset of a site that was just made of these options.
    pub(crate) fn new(site: &Site, options: &Options) -> Self {
        let options = Options { serving: site.choice.clone(), ..options.clone() };
        Self { text: site.text.clone(), options }
    }

    /// Reads everything again that the options name: files of sites, folders, sockets. Returns what may be wrong, too.
    ///
    /// # Errors
    /// As at the start.
    pub(crate) fn renewed(&self) -> Result<(Self, Vec<String>), String> {
        let site = self.options.site()?;
        if let Some(certificate) = &site.self_signed {
            certificate.make().map_err(|error| format!("wordpress: --self-signed: {error}"))?;
        }
        Ok((Self { text: site.text, ..self.clone() }, site.warnings))
    }
}

/// One of the sites, its values checked.
#[derive(Clone, Debug)]
struct Checked {
    names: Vec<String>,
    domains: Vec<String>,
    root: PathBuf,
    php: String,
    zone: String,
}

/// The preset as it is built in, its words in double braces not filled in.
pub(crate) fn template() -> &'static [u8] {
    PRESET.as_bytes()
}

impl Options {
    /// Whether nothing but `--print` was said: no site, so the preset is shown with its placeholders.
    pub(crate) fn is_template(&self) -> bool {
        self.print && *self == Self { print: true, ..Self::default() }
    }

    /// Whether they name one site, or several.
    fn check_whole(&self) -> Result<(), String> {
        if self.is_several() {
            let of_one = [
                ("--root", !self.root.as_os_str().is_empty()),
                ("--php", !self.php.is_empty()),
                ("--name", !self.names.is_empty()),
                ("--domain", !self.https.domains.is_empty()),
            ];
            return match of_one.iter().find(|(_, given)| *given) {
                Some((option, _)) => Err(format!(
                    "wordpress: {option} is for one site: of several each has its own in its line of --site or --sites"
                )),
                None => Ok(()),
            };
        }
        if self.root.as_os_str().is_empty() {
            return Err("wordpress: --root is missing: name the folder that holds wp-config.php".into());
        }
        if self.php.is_empty() {
            return Err(
                "wordpress: --php is missing: name php-fpm's socket (see `listen =` in its pool's configuration)"
                    .into(),
            );
        }
        Ok(())
    }

    /// Whether sites are named by lines.
    fn is_several(&self) -> bool {
        !self.sites.is_empty() || self.sites_file.is_some()
    }

    /// Values that are none, and options that make no sense together.
    fn check(&self) -> Result<(), String> {
        if !self.is_several() {
            self.https.check()?;
        }
        self.names.iter().try_for_each(|name| values::name(name))?;
        self.listen.as_deref().map_or(Ok(()), |listen| values::listen("--listen", listen))
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        if self.https.set(name, &value) {
            return Ok(());
        }
        match name {
            "--root" => self.root = value.into(),
            "--php" => self.php = value,
            "--php-children" => self.children = Some(children::parse(&value)?),
            "--listen" => self.listen = Some(value),
            "--name" => values::add_names(&mut self.names, &value),
            "--prefix" => self.prefix = Some(value.into()),
            "--site" => self.sites.push(value),
            "--sites" => self.sites_file = Some(value.into()),
            _ => self.user = Some(value),
        }
        Ok(())
    }

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

    /// The sites that are named, with folders and addresses that there are.
    fn checked(&self, warnings: &mut Vec<String>) -> Result<Vec<Checked>, String> {
        if !self.is_several() {
            warnings.extend(self.https.uncovered(&self.names));
            let domains = self.https.domains.clone();
            let mut names = self.names.clone();
            for domain in &domains {
                values::add_names(&mut names, domain);
            }
            let root = checked_root(&self.root, "--root")?;
            let php = php_address(&self.php, "--php", warnings)?;
            return Ok(vec![Checked { names, domains, root, php, zone: "wordpress".to_owned() }]);
        }
        let lines = sites::read(&self.sites, self.sites_file.as_deref())?;
        let zones = sites::zones(&lines);
        let checked = lines.into_iter().zip(zones).map(|(line, zone)| {
            let at = |text: String| {
                format!("wordpress: {}: {}", line.place, text.trim_start_matches("wordpress: "))
            };
            let mut said = Vec::new();
            let root = checked_root(&line.root, "folder").map_err(at)?;
            let php = php_address(&line.php, "php", &mut said).map_err(at)?;
            warnings.extend(said.into_iter().map(at));
            let domains = if line.https { line.names.clone() } else { Vec::new() };
            Ok(Checked { names: line.names.clone(), domains, root, php, zone })
        });
        checked.collect()
    }

    /// The preset for these sites; `listens` is where visitors connect by http, and by https.
    fn filled(
        &self,
        sites: &[Checked],
        https: &Https,
        prefix: &Path,
        (plain, tls): &(Vec<String>, Vec<String>),
    ) -> Result<String, String> {
        let bare = |listens: &[String]| -> Vec<String> {
            listens.iter().map(|listen| sites::bare(listen)).collect()
        };
        let (unknown_names, plain, tls) = if self.is_several() {
            (sites::unknown_names(&[&plain[..], &tls[..]].concat()), bare(plain), bare(tls))
        } else {
            (String::new(), plain.clone(), tls.clone())
        };
        let listen = plain.join(";\n        listen ");
        let cache = prefix.join("cache");
        let pools = pools(sites);
        let of_site = |site: &Checked| -> Result<Vec<(&str, String)>, String> {
            let names = if site.names.is_empty() { "_".to_owned() } else { site.names.join(" ") };
            Ok(vec![
                ("listen", listen.clone()),
                ("https", https.server(prefix, &tls, &site.domains)?),
                ("server_name", names),
                ("root", quoted(&site.root)?),
                ("pool", pool_name(&pools, &site.php)),
                ("cache", quoted(&cache.join(&site.zone))?),
                ("zone", site.zone.clone()),
            ])
        };
        let of_sites = sites.iter().map(of_site).collect::<Result<Vec<_>, _>>()?;
        let of_all = [("issuer", https.issuers(prefix)?), ("unknown_names", unknown_names)];
        let of_pools = pools.iter().map(|php| self.of_pool(&pools, php)).collect::<Result<Vec<_>, _>>()?;
        Ok(fill(PRESET, &of_all, &[(EACH_POOL, &of_pools), (EACH_SITE, &of_sites)]))
    }

    /// What the preset says of a pool of php-fpm.
    fn of_pool<'a>(&self, pools: &[&str], php: &str) -> Result<Values<'a>, String> {
        let children = self.children.or_else(|| children::of_pool(php)).unwrap_or(children::UNKNOWN);
        Ok(vec![
            ("pool", pool_name(pools, php)),
            ("php", quoted(Path::new(php))?),
            ("php_children", children.to_string()),
        ])
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

/// The folder of `myriad wordpress`: what `--prefix` said, or its default.
pub(crate) fn prefix(said: Option<&Path>) -> PathBuf {
    said.map_or_else(|| default_prefix(rustix::process::geteuid().is_root()), Path::to_owned)
}

/// The path of its pid file.
pub(crate) fn pid_file(said: Option<&Path>) -> PathBuf {
    prefix(said).join("myriad.pid")
}

fn default_prefix(as_root: bool) -> PathBuf {
    if as_root {
        return "/var/lib/myriad".into();
    }
    let state = std::env::var_os("XDG_STATE_HOME").filter(|path| Path::new(path).is_absolute());
    match (state, std::env::var_os("HOME")) {
        (Some(state), _) => Path::new(&state).join("myriad"),
        (None, Some(home)) => Path::new(&home).join(".local/state/myriad"),
        (None, None) => std::env::temp_dir().join("myriad"),
    }
}

/// The folder of a site; `option` is what named it.
fn checked_root(root: &Path, option: &str) -> Result<PathBuf, String> {
    let root = root.canonicalize().map_err(|error| {
        format!(
            "wordpress: {option} {}: {error}; name the folder that WordPress was unpacked into",
            root.display()
        )
    })?;
    for part in ["index.php", "wp-includes"] {
        if !root.join(part).exists() {
            return Err(format!(
                "wordpress: {} holds no {part}, so it is not WordPress's folder; \
                 {option} names the folder with index.php, wp-admin, wp-content and wp-includes",
                root.display()
            ));
        }
    }
    Ok(root)
}

/// php-fpm's address as `fastcgi_pass` takes it: a path becomes `unix:PATH`; `option` is what named it.
fn php_address(given: &str, option: &str, warnings: &mut Vec<String>) -> Result<String, String> {
    let path = given.strip_prefix("unix:").unwrap_or(given);
    if !path.contains('/') {
        return match given.to_socket_addrs() {
            Ok(_) => Ok(given.to_owned()),
            Err(error) => Err(format!(
                "wordpress: {option} {given}: {error}; give a socket's path such as /run/php/php-fpm.sock, or HOST:PORT"
            )),
        };
    }
    let path = std::path::absolute(path).map_err(|error| format!("wordpress: {option} {given}: {error}"))?;
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.file_type().is_socket() => {}
        Ok(_) => return Err(format!("wordpress: {option} {given} is not a socket")),
        Err(error) => warnings.push(format!(
            "wordpress: {option} {given}: {error}; pages will answer 502 until php-fpm listens there"
        )),
    }
    Ok(format!("unix:{}", path.display()))
}

/// The addresses of php-fpm's pools, each once.
fn pools(sites: &[Checked]) -> Vec<&str> {
    let mut pools: Vec<&str> = Vec::new();
    for site in sites {
        if !pools.contains(&&*site.php) {
            pools.push(&site.php);
        }
    }
    pools
}

/// The name of the group that asks a pool of php-fpm: sites that share a pool share its children.
fn pool_name(pools: &[&str], php: &str) -> String {
    match pools.iter().position(|pool| *pool == php) {
        None | Some(0) => "php".to_owned(),
        Some(index) => format!("php-{}", index + 1),
    }
}

/// What begins the parts of the preset that stand once for each pool of php-fpm, and for each site; and what ends them.
const EACH_POOL: &str = "{{each pool}}";
const EACH_SITE: &str = "{{each site}}";
const END: &str = "{{end}}";

/// Words of the preset, and what stands for them.
type Values<'a> = Vec<(&'a str, String)>;

/// Fills in the preset: what stands for all once, the parts of a pool or a site for each.
fn fill(preset: &str, of_all: &[(&str, String)], parts: &[(&str, &[Values<'_>])]) -> String {
    let mut text = String::with_capacity(preset.len() + 4096);
    let mut lines = preset.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let Some((_, each)) = parts.iter().find(|(begin, _)| line.trim() == *begin) else {
            text.push_str(&fill_lines(line, of_all));
            continue;
        };
        let part: String = lines.by_ref().take_while(|line| line.trim() != END).collect();
        for values in *each {
            text.push_str(&fill_lines(&part, values));
        }
    }
    text
}

/// Replaces the tokens outside comments; what is filled in is never searched again.
fn fill_lines(preset: &str, values: &[(&str, String)]) -> String {
    let mut text = String::with_capacity(preset.len() + 256);
    for line in preset.split_inclusive('\n') {
        if line.trim_start().starts_with('#') {
            text.push_str(line);
            continue;
        }
        let mut rest = line;
        // A word that stands alone and stands for nothing takes its line with it.
        let alone = line.trim().strip_prefix("{{").and_then(|word| word.strip_suffix("}}"));
        if alone.is_some_and(|word| values.iter().any(|(known, value)| *known == word && value.is_empty())) {
            continue;
        }
        while let Some((before, after)) = rest.split_once("{{") {
            let token = after.split_once("}}");
            let value = token.and_then(|(name, _)| values.iter().find(|(known, _)| *known == name));
            text.push_str(before);
            if let (Some((_, tail)), Some((_, value))) = (token, value) {
                text.push_str(value);
                rest = tail;
            } else {
                text.push_str("{{");
                rest = after;
            }
        }
        text.push_str(rest);
    }
    text
}

/// Makes the prefix with its folders, so that the first start needs no preparation.
pub(crate) fn prepare(prefix: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(prefix.join("logs"))?;
    std::fs::create_dir_all(prefix.join("cache"))
}

/// The file name that diagnostics give the preset.
pub(crate) fn name(prefix: &Path) -> PathBuf {
    prefix.join("wordpress.conf")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_of_the_preset_is_filled_in() {
        let names = [("listen", "L"), ("https", "H;"), ("server_name", "N"), ("root", "R"), ("pool", "G")];
        let site = names.into_iter().chain([("cache", "C"), ("zone", "Z")]);
        let owned = |values: Vec<(&'static str, &str)>| -> Vec<_> {
            values.into_iter().map(|(name, value)| (name, value.to_owned())).collect()
        };
        let site = owned(site.collect());
        let pool = owned(vec![("pool", "G"), ("php", "P"), ("php_children", "5")]);
        let of_all = [("issuer", String::new()), ("unknown_names", "U;".to_owned())];
        let text = fill(PRESET, &of_all, &[(EACH_POOL, &[pool]), (EACH_SITE, &[site.clone(), site])]);
        let code: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
        assert!(!code.iter().any(|line| line.contains("{{")), "a token is left");
        assert_eq!(code.iter().filter(|line| line.trim() == "root R;").count(), 2, "each has its root");
        assert_eq!(text.matches("keys_zone=Z:").count(), 2);
        assert_eq!(text.matches("\n    U;\n").count(), 1);
        assert!(code.iter().any(|line| line.trim() == "H;"));
        assert!(code.iter().any(|line| line.trim() == "server P max_conns=5;"));
    }

    #[test]
    fn sites_with_one_pool_share_its_group() {
        let site = |php: &str| Checked {
            names: Vec::new(),
            domains: Vec::new(),
            root: PathBuf::new(),
            php: php.to_owned(),
            zone: String::new(),
        };
        let sites = ["unix:/a", "unix:/b", "unix:/a"].map(site);
        let pools = pools(&sites);
        assert_eq!(pools, ["unix:/a", "unix:/b"]);
        assert_eq!(sites.each_ref().map(|site| pool_name(&pools, &site.php)), ["php", "php-2", "php"]);
    }

    #[test]
    fn a_value_that_looks_like_a_token_stays_as_it_is() {
        let values = [("root", "{{php}}".to_owned()), ("php", "no".to_owned())];
        assert_eq!(fill_lines("root {{root}};", &values), "root {{php}};");
    }

    #[test]
    fn a_folder_without_wordpress_is_refused_with_a_remedy() {
        let folder = std::env::temp_dir().join(format!("myriad-no-wordpress-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        let error = checked_root(&folder, "--root").expect_err("refused");
        assert!(error.contains("holds no index.php") && error.contains("--root names"), "{error}");
        std::fs::remove_dir_all(&folder).expect("clean");
    }

    #[test]
    fn an_absent_socket_warns_and_a_plain_file_is_refused() {
        let mut warnings = Vec::new();
        assert_eq!(
            php_address("/nowhere/php.sock", "--php", &mut warnings).as_deref(),
            Ok("unix:/nowhere/php.sock")
        );
        assert!(warnings[0].contains("502 until php-fpm listens"));
        assert!(php_address("/etc/passwd", "--php", &mut warnings).is_err());
        assert_eq!(php_address("127.0.0.1:9000", "--php", &mut warnings).as_deref(), Ok("127.0.0.1:9000"));
        assert!(php_address("nonsense", "--php", &mut warnings).is_err());
    }

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
