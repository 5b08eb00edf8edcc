//! Usage text of the command line.

/// Text of `--help` and `-h`, printed to standard error as by nginx.
pub const USAGE: &str = "\
Usage: myriad [-?hvVtTq] [-s signal] [-p prefix]
              [-e filename] [-c filename] [-g directives]
       myriad wordpress --root DIR --php SOCKET|HOST:PORT
              [--listen ADDRESS] [--name HOST]... [--prefix DIR]
              [--user NAME] [--trusted-proxy ADDRESS]... [--set NAME=VALUE]...
              [-tTq] [--explain URL ...]
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
       myriad cache ls | show URL | stats        (each has its --help)
       myriad memory
       myriad upstream ls | down | drain | up [GROUP [SERVER]]
       myriad upgrade [-p prefix] [-c filename] | --pid-file FILE
       myriad takeover [--apply | --undo] [-c filename]
       myriad import [FILE] [--root DIR] [--php ADDRESS]
       myriad tune [--apply | --undo] [--site DIR]
       myriad doctor [URL] [--json]
       myriad top [--once]
       myriad log [FILE]... [--slow] [--missed] [--floods] [--errors]
       myriad warm URL [--log FILE | --by-heat] [--budget N,P%]
       myriad man [PAGE] | completions bash|zsh|fish

Options:
  -?,-h         : this help
  -v            : show version and exit
  -V            : show version and configure options then exit
  -t            : test configuration and exit
  -T            : test configuration, dump it and exit
  --explain URL : with -t: say what would become of a request for this URL
                  (or /path), and why it would be cached or not
  -H 'Name: x'  : a request field for --explain, may be repeated
  --method NAME : the method for --explain (default: GET)
  -q            : suppress non-error messages during configuration testing
  -s signal     : send signal to a master process: stop, quit, reopen, reload
                  (without -c and -p: to the server that runs, also that of
                  a `myriad wordpress`)
  -p prefix, --prefix DIR
                : set prefix path (default: /usr/local/myriad/; of a package
                  /var/lib/myriad/)
  -e filename   : set error log file (default: logs/error.log)
  -c filename   : set configuration file (default: conf/nginx.conf; of a package
                  /etc/myriad/nginx.conf)
  -g directives : set global directives out of configuration file

myriad wordpress serves a WordPress site without a configuration file:
  --root DIR    : the folder with index.php, or a project that contains it
                  (Bedrock, a link to the current release)
  --php ADDRESS : php-fpm's socket path, or HOST:PORT
  --php-children N
                : its pm.max_children (default: that of the php-fpm that runs)
  --php-later   : start although nothing listens at --php yet, as in a unit or
                  a container that may start before php-fpm
  --listen ADDR : where visitors connect (default: 80, or 8080 unless root);
                  may be repeated
  --name HOST   : host name of the site, may be repeated (default: any)
  --prefix DIR, -p DIR
                : where the cache, logs and pid file go
  --user NAME   : who serves when started by root (default: myriad, nobody)
  --domain HOST : serve HTTPS with a certificate for this name, issued and
                  renewed by Let's Encrypt, whose terms you accept by it;
                  may be repeated; leads http to https
  --email ADDR  : whom the authority may write to
  --acme-staging: Let's Encrypt's twin for trying out
  --acme-directory URI, --acme-ca FILE
                : another authority, and who vouches for its own server
  --https-listen ADDR
                : where visitors connect by https (default: 443, or 8443)
  --self-signed : serve HTTPS with a certificate made here, for trying out
  --trusted-proxy ADDRESS
                : a proxy or CDN in front that reports clients' addresses, scheme
                  and host: an address, a network, private, or cloudflare; may
                  be repeated
  --set NAME=VALUE
                : a setting of all sites, as search=on or disk=2g; may be
                  repeated (docs/wordpress.md has the list)
  --site LINE   : one of several sites: NAME[,NAME]... DIR PHP, and behind
                  them https for a certificate, and settings of this site;
                  may be repeated
  --sites FILE  : a file with such a line for each site
  --print       : print the configuration that would run and exit;
                  alone: the preset with {{placeholders}}
  --install-plugin
                : write the WordPress plugin into the site and exit; it tells
                  Myriad which pages have changed
  --must-use    : the same among the must-use plugins: always active
  --install-object-cache ADDRESS
                : write WordPress's object cache into the site and exit, for
                  redis://HOST:PORT, redis:/SOCKET, memcached://HOST:PORT,
                  memcached:/SOCKET or apcu
  --remove-object-cache
                : take it out again
";

/// Line of [`USAGE`] at which the options of a site without a configuration file start.
const SITE: &str = "myriad wordpress serves a WordPress site";

/// Splits [`USAGE`] into the part of the server and that of a site without a configuration file, which gets its
/// synopsis.
pub fn usage_of_server_and_site() -> (&'static str, String) {
    let at = USAGE.find(SITE).unwrap_or(USAGE.len());
    let before = USAGE[..at].trim_end();
    let synopsis =
        before.find("       myriad wordpress --root").zip(before.find("       myriad certificates"));
    let lines = synopsis.map_or("", |(begin, end)| &before[begin..end]);
    (before, format!("Usage: {}\n{}", lines.trim_start(), &USAGE[at..]))
}

/// Commands: first words of a command line that are not options.
pub const COMMANDS: [&str; 17] = [
    "cache",
    "certificates",
    "completions",
    "doctor",
    "import",
    "log",
    "man",
    "memory",
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

/// Long options.
pub(super) const LONG: [&str; 5] = ["--explain", "--help", "--method", "--prefix", "--version"];

/// Returns the long options in a usage text.
pub fn options_in(usage: &str) -> impl Iterator<Item = &str> {
    let words = usage.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| word.starts_with("--"))
}
