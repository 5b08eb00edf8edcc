//! Instructions to take over an address from a web server, with its ports and certificates, and to revert.

use std::fmt::Write as _;

/// Web server that Myriad may replace.
struct Server {
    /// First words of its command.
    commands: &'static [&'static str],
    name: &'static str,
    /// Service of its package.
    service: &'static str,
    /// Instructions for its certificates and other functions.
    carry: &'static [&'static str],
}

const SERVERS: [Server; 3] = [
    Server {
        commands: &["nginx"],
        name: "nginx",
        service: "nginx",
        carry: &[
            "its own configuration, with its certificates: myriad takeover says what differs, --apply swaps the services, --undo swaps back",
            "the same by hand: myriad -t -c /etc/nginx/nginx.conf, then without -t, in the place of `myriad wordpress`",
            "or the preset: --domain example.com has new certificates issued; nginx -T | grep ssl_certificate shows the old ones, which stay",
        ],
    },
    Server {
        commands: &["apache2", "httpd"],
        name: "Apache",
        service: "apache2",
        carry: &[
            "PHP must run as php-fpm, for in Apache (mod_php) it ends with Apache: apt install php-fpm",
            "--domain example.com has new certificates issued; apachectl -S shows the sites, SSLCertificateFile in them the old ones, which stay",
            "rules of .htaccess are not read: WordPress' own are in the preset; myriad import translates others",
        ],
    },
    Server {
        commands: &["varnishd"],
        name: "Varnish",
        service: "varnish",
        carry: &[
            "its backend (varnishadm backend.list shows it) stays, and is asked by Myriad: proxy_pass http://127.0.0.1:8080, or php-fpm at once (--php)",
            "its VCL is not read: docs/from-varnish.md has the directive for each habit of it",
            "what ended TLS before it (hitch, nginx) is not needed: --domain example.com has new certificates issued",
        ],
    },
];

/// Returns lines about the process that has bound an address, for output after a sentence; `None` if it is not a known
/// web server.
pub(super) fn of(command: &str) -> Option<String> {
    let program = command.split([' ', ':']).next()?.rsplit('/').next()?;
    let server = SERVERS.iter().find(|server| server.commands.contains(&program))?;
    let Server { name, service, carry, .. } = server;
    let mut lines = format!(
        "\nto take over from {name}:\n\
         \x20 try it beside {name} first: --listen 127.0.0.1:8080, and curl -I -H 'Host: example.com' http://127.0.0.1:8080/"
    );
    for line in *carry {
        lines.push_str("\n  ");
        lines.push_str(line);
    }
    let _ = write!(
        lines,
        "\n  then: systemctl disable --now {service}, and start Myriad on ports 80 and 443\n\
         to go back: stop Myriad (myriad wordpress stop), and systemctl enable --now {service}; nothing of {name} has been changed"
    );
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_servers_are_known_by_their_commands() {
        for (command, service) in [
            ("nginx: master process /usr/sbin/nginx -g daemon on;", "nginx"),
            ("/usr/sbin/apache2 -k start", "apache2"),
            ("httpd -DFOREGROUND", "apache2"),
            ("/usr/sbin/varnishd -a :80", "varnish"),
        ] {
            let text = of(command).expect(command);
            assert!(
                text.contains(&format!("systemctl disable --now {service}")) && text.contains("to go back"),
                "{text}"
            );
        }
        for other in ["", "python3 nginx.py", "myriad wordpress", "nginxx"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
