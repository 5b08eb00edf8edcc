//! The stack on this machine: the running Myriad, its site and its php-fpm.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::options::DoctorOptions;
use myriad_cli::instance::holder;
use myriad_cli::servers::SelectedServer;
use myriad_cli::site_folder::SiteFolder;
use myriad_cli::web::WebTarget;
use myriad_cli::wordpress::{self, SiteLayout, SiteLine};

/// Facts about the WordPress stack that are known before any request: processes, addresses, folders.
#[derive(Debug, Default)]
pub(super) struct LocalStack {
    /// Process ID of Myriad's supervisor; `None` if unknown.
    pub(super) pid: Option<u32>,
    /// Address on which Myriad listens for http, such as `127.0.0.1:8080`; `None` if unknown.
    pub(super) listens: Option<String>,
    /// Address on which Myriad listens for https; `None` if unknown, or if Myriad does not listen for https.
    pub(super) listens_tls: Option<String>,
    /// First name without a wildcard of the selected site, if Myriad serves sites of `--site` or `--sites`. `None`
    /// otherwise, and if `--root` and `--php` of the doctor replace the site.
    pub(super) name: Option<String>,
    /// Layout of the site's folder, or the reason why the site cannot be used; `None` if the folder is unknown.
    pub(super) site: Option<Result<SiteLayout, String>>,
    /// Address of php-fpm: a path, or `HOST:PORT`; `None` if unknown.
    pub(super) php: Option<String>,
}

/// Finds the stack by the options, otherwise by the command line of the running `myriad wordpress`.
///
/// # Errors
/// Returns an error if Myriad serves several sites and the URL selects none of them, or if their list cannot be read.
pub(super) fn find(options: &DoctorOptions) -> Result<LocalStack, String> {
    let server = &options.words.server;
    let running = match SelectedServer::of(server) {
        SelectedServer::Preset(prefix) if options.words.socket.is_none() || server.prefix.is_some() => {
            std::path::absolute(prefix).ok().and_then(|prefix| holder(&prefix).ok().flatten())
        }
        _ => None,
    };
    let mut stack = LocalStack::default();
    let mut arguments = Vec::new();
    if let Some(running) = running {
        let pid = running.pid.as_raw_nonzero().get().cast_unsigned();
        stack.pid = Some(pid);
        let listens = |scheme: &str| {
            running.facts.lines().find_map(|line| {
                let addresses = line.strip_prefix("listens")?.trim();
                addresses.split(", ").find_map(|address| address.strip_prefix(scheme)).map(str::to_owned)
            })
        };
        (stack.listens, stack.listens_tls) = (listens("http://"), listens("https://"));
        arguments = command_line(pid);
    }
    // The pid file has the path of the control socket, with another extension.
    let pid_file = options.words.socket.as_ref().map(|socket| socket.with_extension("pid"));
    if let Some(pid) = pid_file.and_then(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok()) {
        stack.pid = Some(pid);
    }
    let values = |name: &str| {
        let named = arguments.iter().zip(arguments.iter().skip(1)).filter(move |(word, _)| *word == name);
        named.map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    let value = |name: &str| values(name).into_iter().next();
    let of_sites = if options.root.is_none() || options.php.is_none() {
        let file = value("--sites").map(|file| resolved_path(stack.pid, &file));
        let sites = (file.is_some() || arguments.iter().any(|word| word == "--site"))
            .then(|| wordpress::read_sites(&values("--site"), file.as_deref()))
            .transpose()?;
        sites.map(|sites| site_of(sites, options.url.as_ref())).transpose()?
    } else {
        None
    };
    let (mut root, mut php) = (value("--root"), value("--php"));
    if let Some(site) = of_sites {
        stack.name = site.names.iter().find_map(|name| plain(name)).map(str::to_owned);
        (root, php) = (Some(site.root.to_string_lossy().into_owned()), Some(site.php));
    }
    let root = options.root.clone().or_else(|| root.map(|root| resolved_path(stack.pid, &root)));
    stack.site = root.map(|root| checked_layout(&root));
    let php = options.php.clone().or(php);
    stack.php = php.map(|php| php.strip_prefix("unix:").map_or(php.clone(), str::to_owned));
    Ok(stack)
}

/// Returns the site with the name that matches the host of `url` best; without a URL, the only site.
///
/// Returns an error text if there are several sites and no URL, or if no site has a name that matches the host.
fn site_of(sites: Vec<SiteLine>, url: Option<&WebTarget>) -> Result<SiteLine, String> {
    let known = sites.iter().filter_map(|site| site.names.first().cloned()).collect::<Vec<_>>().join(", ");
    let Some(host) = url.map(|url| url.host().to_ascii_lowercase()) else {
        let first = sites.iter().flat_map(|site| &site.names).find_map(|name| plain(name));
        let first = first.unwrap_or("example.com").to_owned();
        let mut sites = sites.into_iter();
        return match (sites.next(), sites.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(format!(
                "this server has several sites: {known}; specify one, as in `myriad doctor http://{first}/`"
            )),
        };
    };
    let fit = |site: &SiteLine| site.names.iter().filter_map(|name| name_rank(name, &host)).max();
    let best =
        sites.into_iter().filter_map(|site| fit(&site).map(|fit| (fit, site))).max_by_key(|(fit, _)| *fit);
    best.map(|(_, site)| site)
        .ok_or_else(|| format!("{host} is not one of the sites of this server: {known}"))
}

/// Returns a host that matches a server name: `example.com` for `example.com` and for `.example.com`; `None` for other
/// wildcards.
fn plain(name: &str) -> Option<&str> {
    let name = name.strip_prefix('.').unwrap_or(name);
    (!name.contains('*')).then_some(name)
}

/// Ranks a server name for a host, in the order of precedence of `server_name`: exact name, longest leading wildcard,
/// longest trailing wildcard; a greater rank takes precedence. Returns `None` if the name does not match.
fn name_rank(name: &str, host: &str) -> Option<(u8, usize)> {
    let name = name.to_ascii_lowercase();
    let below = |end: &str| host.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'));
    let (rank, fits) = match (name.strip_prefix("*."), name.strip_prefix('.'), name.strip_suffix(".*")) {
        (Some(end), _, _) => (1, below(end)),
        (_, Some(end), _) if host == end => (2, true),
        (_, Some(end), _) => (1, below(end)),
        (_, _, Some(start)) => (0, host.strip_prefix(start).is_some_and(|rest| rest.starts_with('.'))),
        _ => (2, name == host),
    };
    fits.then_some((rank, name.len()))
}

/// Returns the words of a process's command line; `--name=value` becomes two words. Returns no words if it cannot be
/// read.
fn command_line(pid: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    words
        .flat_map(|word| match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => vec![name.to_owned(), value.to_owned()],
            _ => vec![word],
        })
        .collect()
}

/// Resolves a path relative to the working directory of a process; returns `path` unchanged if the process or its
/// directory is unknown.
fn resolved_path(pid: Option<u32>, path: &str) -> PathBuf {
    let folder = pid.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).ok());
    folder.map_or_else(|| path.into(), |folder| folder.join(path))
}

/// Returns the layout of the site in the folder `root`; an error text if it contains no WordPress or no readable
/// `wp-config.php`, or if its path contains a line break.
fn checked_layout(root: &Path) -> Result<SiteLayout, String> {
    let shown = root.display();
    let layout =
        SiteLayout::find(root).map_err(|error| format!("--root {shown}: {error}"))?.ok_or_else(|| {
            format!("--root {shown}: no WordPress found; specify the folder that contains its index.php")
        })?;
    if root.as_os_str().as_bytes().contains(&b'\n') {
        return Err(format!("--root {shown}: the path contains a line break"));
    }
    let Some(file) = layout.configuration_file() else {
        return Err(format!("{shown} has no wp-config.php: complete the WordPress installation first"));
    };
    SiteFolder::new(&layout.root).text(&file).map_err(|error| {
        format!(
            "{}: {}; run the doctor as root, or as a user who can read the file",
            file.display(),
            myriad_cli::pidfile::reason(&error)
        )
    })?;
    Ok(layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_is_the_one_that_the_url_leads_to() {
        let site = |names: &str| {
            let site = format!("{names} /var/www 127.0.0.1:9");
            wordpress::read_sites(&[site], None).expect("a line").remove(0)
        };
        let lines = ["*.a.test", "shop.a.test", "*.b.a.test", ".c.test", "d.*"];
        let sites = || lines.map(site).to_vec();
        for (host, name) in [
            ("x.a.test", "*.a.test"),
            ("SHOP.a.test", "shop.a.test"),
            ("x.b.a.test", "*.b.a.test"),
            ("c.test", ".c.test"),
            ("x.c.test", ".c.test"),
            ("d.org", "d.*"),
        ] {
            let url = WebTarget::parse(&format!("http://{host}/")).expect("a URL");
            assert_eq!(site_of(sites(), Some(&url)).expect(host).names, [name], "{host}");
        }
        for host in ["a.test", "xa.test", "dx.org"] {
            let url = WebTarget::parse(&format!("http://{host}/")).expect("a URL");
            assert!(site_of(sites(), Some(&url)).is_err(), "{host}");
        }
        let several_sites_error = site_of(sites(), None).expect_err("several");
        assert!(
            several_sites_error.contains("as in `myriad doctor http://shop.a.test/`"),
            "{several_sites_error}"
        );
        assert_eq!(site_of(vec![site("a.test")], None).expect("the only site").names, ["a.test"]);
        assert_eq!(lines.map(plain), [None, Some("shop.a.test"), None, Some("c.test"), None]);
    }
}
