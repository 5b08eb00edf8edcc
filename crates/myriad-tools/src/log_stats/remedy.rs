//! Remedies for errors, selected by a text in the message, in which "…" matches any text. The first matching row
//! applies.

const REMEDIES: &[(&str, &str)] = &[
    ("(24: Too many open files)", "raise worker_rlimit_nofile, or LimitNOFILE of the service"),
    ("(28: No space left on device)", "free disk space, or lower max_size of the zones"),
    ("(122: Disk quota exceeded)", "free space in the quota, or lower max_size of the zones"),
    ("its disk is too slow", "check the disk, or write less: sample= or gzip= of access_log"),
    (
        "connect() failed (111: Connection refused)",
        "start the origin, or fix the address in *_pass or upstream",
    ),
    ("connect() failed (110", "the origin does not respond: check its load and the firewalls in between"),
    ("connect() failed (113", "the origin is unreachable: check the network and firewalls"),
    (
        "connect() to … failed (2: ",
        "php-fpm is not running, or has a different socket: compare `listen` of its pool",
    ),
    (
        "connect() to … failed (13: ",
        "allow the worker user to access the socket: listen.owner, listen.group of the pool",
    ),
    (
        "connect() to … failed (11: ",
        "php-fpm is overloaded: raise pm.max_children and listen.backlog (myriad tune)",
    ),
    (
        "upstream timed out",
        "the origin is too slow: see the slowest pages (myriad log --slow), or raise *_read_timeout",
    ),
    (
        "no live upstreams",
        "all servers of the group have failed: see `myriad upstream ls` and the previous errors",
    ),
    (
        "upstream prematurely closed connection",
        "the origin closed the connection: check its log, for PHP memory_limit and crashes",
    ),
    ("upstream sent too big header", "raise *_buffer_size, or make the application send fewer cookies"),
    (
        "upstream sent",
        "the origin does not use the expected protocol: check *_pass and the log of the origin",
    ),
    (
        "Connection reset by peer) while reading",
        "the origin reset the connection: check its log, for crashes of PHP",
    ),
    (
        "Primary script unknown",
        "php-fpm cannot read the file: compare root and SCRIPT_FILENAME with its chroot",
    ),
    ("PHP message: ", "fix the PHP code or plugin in the message"),
    ("directory index of", "add an index file, or set autoindex on"),
    ("access forbidden by rule", "intended, if allow and deny are correct"),
    ("client intended to send too large body", "raise client_max_body_size if larger uploads are needed"),
    ("user \"…\" was not found", "if many come from one address: block it, for example with fail2ban"),
    ("password mismatch", "if many come from one address: block it, for example with fail2ban"),
    ("no user/password was provided", "normal, unless this page should be public"),
    ("limiting requests", "intended; else raise rate and burst of limit_req"),
    ("delaying request", "intended; else raise rate and burst of limit_req"),
    ("limiting connections", "intended; else raise the number of limit_conn"),
    (
        "SSL_do_handshake() failed",
        "mostly scanners; else compare ssl_protocols and certificates with the clients",
    ),
    ("certificate", "see `myriad certificates`"),
    ("could not be resolved", "fix the name, or the address of the resolver"),
    ("host not found", "fix the name, or first start the service that resolves it"),
    (
        "rewrite or internal redirection cycle",
        "a rewrite or try_files refers to itself: add a file or =404 as the last parameter",
    ),
    ("could not allocate node", "enlarge the zone in *_zone"),
    ("worker_connections are not enough", "raise worker_connections"),
    ("api forbidden", "intended for other clients; to allow access, see docs/inspecting.md"),
    ("purge forbidden", "intended for other clients; to allow access, see docs/purge.md"),
    ("not mirrored", "the mirror is too slow: check it, or mirror fewer requests"),
    ("no resolver defined", "add resolver ADDRESS, or use a server of an upstream group"),
    ("are stored only in memory", "fix the folder of the zone: check its disk and owner"),
    ("request body refused", "raise client_body_temp_max_size, or find the client of the large uploads"),
    ("(13: Permission denied)", "allow the worker user to read it: ls -l, also for each parent folder"),
    ("(2: No such file or directory)", "links point to missing files; fix them, or set log_not_found off"),
    ("(20: Not a directory)", "the path continues after a file name: fix the link"),
    ("(36: File name too long)", "no action needed: a client requests names that no file can have"),
    ("client sent", "no action needed: mostly scanners and broken programs"),
    ("panic while processing", "this is a bug in Myriad: please report it with this line"),
    ("panic in the ", "this is a bug in Myriad: please report it with this line"),
    ("exited on signal", "this is a crash: please report it with the lines before it"),
];

/// Returns the advice for an error message of the log, or for a group of messages; `None` if no general advice exists.
pub fn remedy(message: &str) -> Option<&'static str> {
    let found = REMEDIES.iter().find(|(pattern, _)| contains(message, pattern));
    found.map(|(_, advice)| *advice)
}

/// Returns whether a message contains the parts of a pattern between its "…", in this order.
fn contains(message: &str, pattern: &str) -> bool {
    let mut rest = Some(message);
    for part in pattern.split('…') {
        rest = rest.and_then(|rest| rest.find(part).map(|at| &rest[at + part.len()..]));
    }
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_specific_part_of_message_selects_remedy() {
        for address in ["unix:/run/php.sock", "…"] {
            let message =
                format!("connect() to {address} failed (13: Permission denied) while connecting to upstream");
            assert!(remedy(&message).expect("one").contains("listen.owner"), "{address}");
        }
        let advice = remedy("user \"admin\" was not found in \"/etc/users\"").expect("one");
        assert!(advice.contains("fail2ban"));
        assert!(
            remedy("open() \"…\" failed (2: No such file or directory)")
                .expect("one")
                .contains("log_not_found")
        );
        assert_eq!(remedy("using the \"epoll\" event method"), None);
    }

    #[test]
    fn each_advice_is_short_enough_for_a_line() {
        for (part, advice) in REMEDIES {
            assert!(advice.len() <= 96 && advice.is_ascii(), "{part}");
        }
    }
}
