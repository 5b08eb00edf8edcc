//! Tests of `auth_basic`, and of `$remote_user`.

use super::support::{GateResult, GateRun, ask};
use myriad_exchange::exchange::Exchange;
use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables};
use myriad_serve::testing::{TestFolder, TestSite};

const USERS: &str = "plain:{PLAIN}secret
sha6:$6$rounds=1000$saltsalt$Z/J9iYO1iE9xnr8JPQL57ZWsVRtVjrUv3CiWc/wKWseqXgSqn3HFYJ/Ng7YXa8XlLj.wpdAwHOJJzuGFqBBRa0
strange:$argon2id$v=19$m=65536
";
const PLAIN: &str = "Basic cGxhaW46c2VjcmV0";
/// `Authorization` value of user `sha6` with password `password`, whose stored hash is slow.
const SLOW: &str = "Basic c2hhNjpwYXNzd29yZA==";

/// Site with a password file; dropping it removes its folder.
struct ProtectedSite(TestFolder, TestSite);

impl ProtectedSite {
    fn new(name: &str, server: &str) -> Self {
        let folder = TestFolder::new(&format!("auth-basic-{name}"));
        folder.write("users", USERS);
        let site = TestSite::in_folder(&folder.0, "", server);
        Self(folder, site)
    }

    fn exchange(&self, target: &str, authorization: Option<&str>) -> Box<Exchange> {
        let field = authorization.map(|value| ("Authorization", value));
        self.1.exchange(target, field.as_slice())
    }

    fn ask(&self, target: &str, authorization: &str) -> GateRun {
        ask(&mut self.exchange(target, Some(authorization)))
    }
}

const RULES: &str = "auth_basic \"closed site\"; auth_basic_user_file users;";

fn challenge() -> GateResult {
    GateResult::Rejected(401, "WWW-Authenticate: Basic realm=\"closed site\"\r\n".to_owned())
}

#[test]
fn correct_password_is_admitted_without_waiting() {
    let closed = ProtectedSite::new("known", RULES);
    let asked = closed.ask("/", PLAIN);
    assert_eq!((asked.result, asked.waits), (GateResult::Admitted, 0));
}

#[test]
fn wrong_or_missing_credentials_receive_challenge() {
    let closed = ProtectedSite::new("unknown", RULES);
    assert_eq!(ask(&mut closed.exchange("/", None)).result, challenge());
    let wrong = [
        ("a wrong password", "Basic cGxhaW46d3Jvbmc="),
        ("a user who is not in the file", "Basic bm9ib2R5OnNlY3JldA=="),
        ("a hash of no known kind", "Basic c3RyYW5nZTpzZWNyZXQ="),
        ("another scheme", "Bearer cGxhaW46c2VjcmV0"),
        ("no base64", "Basic !!!"),
    ];
    for (what, authorization) in wrong {
        assert_eq!(closed.ask("/", authorization).result, challenge(), "{what}");
    }
}

#[test]
fn slow_hash_is_waited_for_once_a_minute() {
    let closed = ProtectedSite::new("slow", RULES);
    let (first, second) = (closed.ask("/", SLOW), closed.ask("/", SLOW));
    assert_eq!((first.result, first.waits), (GateResult::Admitted, 1));
    assert_eq!((second.result, second.waits), (GateResult::Admitted, 0));
    // `sha6:wrong`: a wrong password is hashed at each attempt.
    for _ in 0..2 {
        let wrong = closed.ask("/", "Basic c2hhNjp3cm9uZw==");
        assert_eq!((wrong.result, wrong.waits), (challenge(), 1));
    }
}

#[test]
fn realm_of_variables_may_ask_for_nothing() {
    let rules = "auth_basic $arg_realm; auth_basic_user_file users;";
    let closed = ProtectedSite::new("realm", rules);
    assert_eq!(ask(&mut closed.exchange("/?realm=off", None)).result, GateResult::Admitted);
    let line =
        |realm: &str| GateResult::Rejected(401, format!("WWW-Authenticate: Basic realm=\"{realm}\"\r\n"));
    assert_eq!(ask(&mut closed.exchange("/?realm=mine", None)).result, line("mine"));
    assert_eq!(
        ask(&mut closed.exchange("/?realm=one\r\nX-Two:\tthree\u{7f}", None)).result,
        line("oneX-Two:three")
    );
    let exchange = closed.exchange("/", None);
    let identifies =
        |exchange: &Exchange| exchange.request.place().entry.gate.as_ref().expect("a gate").identifies();
    assert!(!identifies(&exchange), "the realm may evaluate to `off`");
    let exchange = ProtectedSite::new("named", RULES).exchange("/", None);
    assert!(identifies(&exchange));
}

#[test]
fn file_is_found_by_variables_and_by_its_absolute_name() {
    let folder = TestFolder::new("auth-basic-absolute");
    folder.write("users", USERS);
    let rules = format!("auth_basic x; auth_basic_user_file {}/$arg_file;", folder.0.display());
    let site = TestSite::new("", &rules);
    assert_eq!(
        ask(&mut site.exchange("/?file=users", &[("Authorization", PLAIN)])).result,
        GateResult::Admitted
    );
}

#[test]
fn unreadable_password_file_admits_no_client() {
    let rules = "auth_basic x; auth_basic_user_file $arg_file;";
    let closed = ProtectedSite::new("missing", rules);
    assert_eq!(closed.ask("/?file=users", PLAIN).result, GateResult::Admitted);
    assert_eq!(
        closed.ask("/?file=nothing", PLAIN).result,
        GateResult::out(403),
        "a missing file, as in nginx"
    );
    assert_eq!(closed.ask("/?file=.", PLAIN).result, GateResult::out(500), "a folder");
    assert_eq!(closed.ask("/?file=users\0", PLAIN).result, GateResult::out(500), "not a file name");
}

#[test]
fn file_counts_as_it_is_now() {
    let closed = ProtectedSite::new("changed", RULES);
    assert_eq!(closed.ask("/", PLAIN).result, GateResult::Admitted);
    closed.0.write("users", "plain:{PLAIN}another one\n");
    assert_eq!(closed.ask("/", PLAIN).result, challenge());
}

#[test]
fn auth_basic_and_user_file_have_no_effect_without_each_other() {
    for rules in
        ["auth_basic x;", "auth_basic_user_file users;", "auth_basic off; auth_basic_user_file users;"]
    {
        let exchange = TestSite::new("", rules).exchange("/", &[]);
        assert!(exchange.request.place().entry.gate.is_none(), "{rules}");
    }
}

#[test]
fn file_that_the_owner_of_a_site_has_replaced_is_not_followed_nor_waited_for() {
    use std::os::unix::fs::{lchown, symlink};

    let rules = "disable_symlinks if_not_owner from=$document_root;
                 auth_basic \"closed site\"; auth_basic_user_file $document_root/$arg_file;";
    let closed = ProtectedSite::new("replaced", rules);
    let root = closed.0.0.join("html");
    std::fs::create_dir_all(&root).unwrap();
    let ask = |file: &str| closed.ask(&format!("/?file={file}"), PLAIN).result;
    symlink("../users", root.join("own")).unwrap();
    assert_eq!(ask("own"), GateResult::Admitted, "a link of the owner of the file");
    let pipe = std::process::Command::new("mkfifo").arg(root.join("pipe")).status();
    assert!(pipe.unwrap().success());
    assert_eq!(ask("pipe"), GateResult::out(500));
    symlink("../users", root.join("foreign")).unwrap();
    // Only root may change the owner of a file.
    if lchown(root.join("foreign"), Some(54_321), None).is_ok() {
        assert_eq!(ask("foreign"), GateResult::out(500));
    }
}

#[test]
fn the_user_is_the_one_of_basic_credentials() {
    let fields = [("Authorization", "Basic dXNlcjpwYXNz")];
    assert_variables(
        &mut VariableCase { fields: &fields, ..VariableCase::default() }.begin(),
        &[("remote_user", "user")],
    );
    assert_unset(&mut VariableCase::default().begin(), &["remote_user"]);
}
