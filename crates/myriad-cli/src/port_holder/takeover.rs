//! Instructions for replacing another web server that has bound an address, and for reverting that.

use std::fmt::Write as _;

/// Web server that Myriad may replace.
struct WebServer {
    /// File names of the web server's program.
    commands: &'static [&'static str],
    name: &'static str,
    /// systemd service of the web server's package.
    service: &'static str,
    /// Instructions about the web server's certificates and other functions.
    carry: &'static [&'static str],
}

const SERVERS: [WebServer; 3] = [
    WebServer {
        commands: &["nginx"],
        name: "nginx",
        service: "nginx",
        carry: &[
            "with its configuration and certificates: myriad takeover lists the differences, --apply swaps the services, \
                 --undo swaps them back",
            "or manually: myriad -t -c /etc/nginx/nginx.conf, then without -t, instead of `myriad wordpress`",
            "or with the preset: --domain example.com requests new certificates; nginx -T | grep ssl_certificate shows the \
                 old ones, which are not changed",
        ],
    },
    WebServer {
        commands: &["apache2", "httpd"],
        name: "Apache",
        service: "apache2",
        carry: &[
            "PHP must run in php-fpm, because in Apache (mod_php) it stops together with Apache: apt install php-fpm",
            "--domain example.com requests new certificates; apachectl -S shows the sites, and their SSLCertificateFile the \
                 old certificates, which are not changed",
            "rewrite rules of .htaccess are not read: the preset contains those of WordPress; myriad import translates others",
        ],
    },
    WebServer {
        commands: &["varnishd"],
        name: "Varnish",
        service: "varnish",
        carry: &[
            "its backend (see varnishadm backend.list) continues to run, as the upstream of Myriad: proxy_pass \
                 http://127.0.0.1:8080, or php-fpm directly (--php)",
            "its VCL is not read: docs/from-varnish.md lists the equivalent directives",
            "the TLS proxy in front of it (hitch, nginx) is not needed: --domain example.com requests new certificates",
        ],
    },
];

/// Returns instructions for replacing the process with this command line, as lines to append to a message; `None` if it
/// is not a known web server.
pub(super) fn advice_for(command: &str) -> Option<String> {
    let program = command.split([' ', ':']).next()?.rsplit('/').next()?;
    let server = SERVERS.iter().find(|server| server.commands.contains(&program))?;
    let WebServer { name, service, carry, .. } = server;
    let mut lines = format!(
        "\nto take over from {name}:\n\x20 first test next to {name}: --listen 127.0.0.1:8080, and curl -I -H 'Host: \
             example.com' http://127.0.0.1:8080/"
    );
    for line in *carry {
        lines.push_str("\n  ");
        lines.push_str(line);
    }
    let _ = write!(
        lines,
        "\n  then: systemctl disable --now {service}, and start Myriad on ports 80 and 443\nto revert: stop Myriad \
             (myriad wordpress stop), and run systemctl enable --now {service}; the files of {name} are not changed"
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
            let text = advice_for(command).expect(command);
            assert!(
                text.contains(&format!("systemctl disable --now {service}")) && text.contains("to revert"),
                "{text}"
            );
        }
        for other in ["", "python3 nginx.py", "myriad wordpress", "nginxx"] {
            assert_eq!(advice_for(other), None, "{other}");
        }
    }
}
