//! Usage text of the command line.

/// Text of `--help` and `-h`, printed to standard error as by nginx.
pub const USAGE: &str = "\
Usage: myriad [-?hvVtTq] [-s signal] [-p prefix]
              [-e filename] [-c filename] [-g directives]
       myriad wordpress --root DIR --php SOCKET|HOST:PORT
              [--listen ADDRESS] [--name HOST]... [--prefix DIR]
              [--user NAME] [--trusted-proxy ADDRESS]... [--cluster URL]...
              [--set NAME=VALUE]... [-tTq] [--explain URL ...]
              [--domain HOST... [--email ADDRESS] [--acme-staging]]
       myriad wordpress --site 'NAMES DIR PHP [https] [NAME=VALUE]...'...
              | --sites FILE ...
       myriad wordpress --print [--root DIR --php ...]
       myriad wordpress --install-plugin [--must-use] --root DIR [--prefix DIR]
       myriad wordpress --install-object-cache ADDRESS | --remove-object-cache
              --root DIR
       myriad wordpress status | reload | stop [--prefix DIR]
       myriad php ...        (the same for any other PHP system)
       myriad certificates [-p prefix] [-c filename] | wordpress ...
       myriad purge URL... | --tag T | --wildcard PATTERN | --all ...
       myriad cache ls | show URL | stats | leaks (each has its --help)
       myriad memory
       myriad cluster status | nodes | purges | forget NODE
       myriad upstream ls | down | drain | up [GROUP [SERVER]]
       myriad upgrade [-p prefix] [-c filename] | --pid-file FILE
       myriad takeover [--apply | --undo] [-c filename]
       myriad import [FILE] [--root DIR] [--php ADDRESS]
       myriad tune [--apply | --undo] [--site DIR]
       myriad doctor [URL] [--json]
       myriad top [--once]
       myriad log [FILE]... [--slow] [--missed] [--floods] [--errors]
       myriad warm URL [--log FILE | --by-heat] [--budget N,P%]
       myriad optimize audit URL [--json]
       myriad man [PAGE] | completions bash|zsh|fish

Options:
  -?,-h         : this help
  -v            : show version and exit
  -V            : show version and configure options then exit
  -t            : test configuration and exit
  -T            : test configuration, dump it and exit
  --explain URL : with -t: show how a request for this URL (or /path) would be
                  handled, and why its response would be cached or not
  -H 'Name: x'  : request header for --explain, may be repeated
  --method NAME : request method for --explain (default: GET)
  -q            : suppress non-error messages during configuration testing
  -s signal     : send signal to a master process: stop, quit, reopen, reload
                  (without -c and -p: to the running server, also one started
                  by `myriad wordpress`)
  -p prefix, --prefix DIR
                : set prefix path (default: /usr/local/myriad/; of a package
                  /var/lib/myriad/)
  -e filename   : set error log file (default: logs/error.log)
  -c filename   : set configuration file (default: conf/nginx.conf; of a package
                  /etc/myriad/nginx.conf)
  -g directives : set global directives out of configuration file

myriad wordpress serves a WordPress site without a configuration file:
  --root DIR    : folder with index.php, or a project that contains it
                  (Bedrock, a symbolic link to the current release)
  --php ADDRESS : socket path of php-fpm, or HOST:PORT
  --php-children N
                : pm.max_children of php-fpm (default: detected from the
                  running php-fpm)
  --php-later   : start even if nothing listens at --php yet, for a unit or
                  container that may start before php-fpm
  --listen ADDR : address to listen on (default: 80, or 8080 unless root);
                  may be repeated
  --name HOST   : host name of the site, may be repeated (default: any)
  --prefix DIR, -p DIR
                : folder of the cache, the logs and the pid file
  --user NAME   : user of the worker process when started by root (default:
                  myriad, nobody)
  --domain HOST : serve HTTPS with a certificate for this name, issued and
                  renewed by Let's Encrypt (this accepts its terms of
                  service); redirects http to https; may be repeated
  --email ADDR  : contact email for the ACME account
  --acme-staging: use Let's Encrypt's staging environment
  --acme-directory URI, --acme-ca FILE
                : ACME directory URL of another authority, and the CA bundle
                  (PEM) to verify its server
  --https-listen ADDR
                : address to listen on for https (default: 443, or 8443)
  --self-signed : serve HTTPS with a self-signed certificate, for tests
  --trusted-proxy ADDRESS
                : proxy or CDN in front of Myriad whose client address, scheme
                  and host headers are trusted: an address, a network, private,
                  or cloudflare; may be repeated
  --cluster URL : exchange purges and pages with other machines through Valkey:
                  redis://HOST, rediss://HOST (TLS), sentinel://HOST/MASTER or
                  sentinels://HOST/MASTER (TLS); may be repeated; needs
                  PREFIX/cluster.secret (docs/cluster.md)
  --set NAME=VALUE
                : setting for all sites, such as search=on or disk=2g; may be
                  repeated (docs/wordpress.md has the list)
  --site LINE   : one of several sites: NAME[,NAME]... DIR PHP, followed by
                  https for a certificate, and by settings of this site; may
                  be repeated
  --sites FILE  : file with such a line for each site
  --print       : print the configuration that would run and exit;
                  without other options: the preset with {{placeholders}}
  --install-plugin
                : write the WordPress plugin into the site and exit; it notifies
                  Myriad of changed pages
  --must-use    : with --install-plugin: install as a must-use plugin, which is
                  always active
  --install-object-cache ADDRESS
                : write WordPress's object cache into the site and exit, for
                  redis://HOST:PORT, redis:/SOCKET, memcached://HOST:PORT,
                  memcached:/SOCKET or apcu
  --remove-object-cache
                : remove the object cache from the site and exit
";

/// Line of [`USAGE`] at which the part about sites without a configuration file starts.
const SITE: &str = "myriad wordpress serves a WordPress site";

/// Splits [`USAGE`] into the part about the server, and the part about sites without a configuration file, to which the
/// synopsis is added.
pub fn usage_of_server_and_site() -> (&'static str, String) {
    let at = USAGE.find(SITE).unwrap_or(USAGE.len());
    let before = USAGE[..at].trim_end();
    let synopsis =
        before.find("       myriad wordpress --root").zip(before.find("       myriad certificates"));
    let lines = synopsis.map_or("", |(begin, end)| &before[begin..end]);
    (before, format!("Usage: {}\n{}", lines.trim_start(), &USAGE[at..]))
}

/// Commands that are the first word of a command line.
pub const COMMANDS: [&str; 19] = [
    "cache",
    "certificates",
    "cluster",
    "completions",
    "doctor",
    "import",
    "log",
    "man",
    "memory",
    "optimize",
    "php",
    "purge",
    "takeover",
    "top",
    "tune",
    "upgrade",
    "upstream",
    "warm",
    "wordpress",
];

/// Long options of a command line without a command, which starts or tests the server.
pub(super) const LONG: [&str; 5] = ["--explain", "--help", "--method", "--prefix", "--version"];

/// Returns the long options in a usage text.
pub fn options_in(usage: &str) -> impl Iterator<Item = &str> {
    let words = usage.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| word.starts_with("--"))
}
