//! Remedies for errors: a table of texts in messages. The first matching row applies.

const REMEDIES: &[(&str, &str)] = &[
    ("(24: Too many open files)", "raise worker_rlimit_nofile, or LimitNOFILE of the service"),
    ("(28: No space left on device)", "make room on the disk, or lower max_size of the zones"),
    ("(122: Disk quota exceeded)", "make room within the quota, or lower max_size of the zones"),
    ("its disk is too slow", "look at the disk, or write less: sample= or gzip of access_log"),
    (
        "connect() failed (111: Connection refused)",
        "start the origin, or mend the address in *_pass or upstream",
    ),
    ("connect() failed (110", "the origin does not answer: look at its load and at firewalls between"),
    ("connect() failed (113", "the origin cannot be reached: look at the network and firewalls"),
    (
        "connect() to \"…\" failed (2: ",
        "php-fpm does not run, or its socket is elsewhere: compare `listen` of its pool",
    ),
    (
        "connect() to \"…\" failed (13: ",
        "let the user of the workers use the socket: listen.owner, listen.group of the pool",
    ),
    (
        "connect() to \"…\" failed (11: ",
        "php-fpm is full: raise pm.max_children and listen.backlog (myriad tune)",
    ),
    (
        "upstream timed out",
        "the origin is too slow: see the slowest pages (myriad log --slow), or raise *_read_timeout",
    ),
    (
        "no live upstreams",
        "all servers of the group have failed: see `myriad upstream ls` and the errors before",
    ),
    (
        "upstream prematurely closed connection",
        "the origin broke off: look into its own log, for PHP memory_limit and crashes",
    ),
    ("upstream sent too big header", "raise *_buffer_size, or have the application send fewer cookies"),
    (
        "upstream sent",
        "the origin answers with something else than its protocol: look at *_pass and its own log",
    ),
    (
        "Connection reset by peer) while reading",
        "the origin broke off: look into its own log, for crashes of PHP",
    ),
    (
        "Primary script unknown",
        "php-fpm does not see the file: compare root and SCRIPT_FILENAME with its chroot",
    ),
    ("PHP message: ", "mend the PHP code or plugin that the message names"),
    ("directory index of", "put an index file there, or write autoindex on"),
    ("access forbidden by rule", "wanted, if allow and deny are right"),
    ("client intended to send too large body", "raise client_max_body_size where uploads should be larger"),
    ("user \"…\" was not found", "many of one address: let fail2ban shut it out"),
    ("password mismatch", "many of one address: let fail2ban shut it out"),
    ("no user/password was provided", "nothing, unless visitors should see this page"),
    ("limiting requests", "wanted, or raise rate and burst of limit_req"),
    ("delaying request", "wanted, or raise rate and burst of limit_req"),
    ("limiting connections", "wanted, or raise the number of limit_conn"),
    (
        "SSL_do_handshake() failed",
        "mostly scanners; else compare ssl_protocols and certificates with the clients",
    ),
    ("certificate", "see `myriad certificates`"),
    ("could not be resolved", "mend the name, or the address of the resolver"),
    ("host not found", "mend the name, or start what serves it before"),
    (
        "rewrite or internal redirection cycle",
        "a rewrite or try_files leads to itself: end it with a file or =404",
    ),
    ("could not allocate node", "enlarge the zone in *_zone"),
    ("worker_connections are not enough", "raise worker_connections"),
    ("api forbidden", "wanted, unless you asked: docs/inspecting.md says who may"),
    ("purge forbidden", "wanted, unless you asked: docs/purge.md says who may"),
    ("not mirrored", "the mirror is too slow: look at it, or mirror fewer requests"),
    ("no resolver defined", "write resolver ADDRESS, or a server of an upstream group"),
    ("are kept in memory alone", "mend the folder of the zone: its disk, its owner"),
    ("request body refused", "raise client_body_temp_max_size, or look who uploads so much"),
    ("(13: Permission denied)", "let the user of the workers read it: ls -l, and each folder above"),
    ("(2: No such file or directory)", "links lead to what is not there; mend them, or log_not_found off"),
    ("(20: Not a directory)", "a path goes on behind a file: mend the link"),
    ("(36: File name too long)", "nothing: somebody asks for names that no file can have"),
    ("client sent", "nothing: mostly scanners and broken programs"),
    ("a panic ended", "a defect of Myriad: please report it with this line"),
    ("exited on signal", "a crash: please report it with the lines before"),
];

/// Returns the remedy for a message or its group; `None` if no general advice exists.
pub fn remedy(message: &str) -> Option<&'static str> {
    let found = REMEDIES.iter().find(|(part, _)| message.contains(part));
    found.map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_telling_part_of_a_message_counts() {
        let advice = remedy("connect() to \"…\" failed (13: Permission denied) while connecting to upstream")
            .expect("one");
        assert!(advice.contains("listen.owner"));
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
