//! Tests of the golden harness: a wrong expectation fails with a description of the difference.

use myriad_tests::golden::{Case, Outcome, Subject, find, folder};

fn play(text: &str) -> Outcome {
    Case::parse(text).expect("a case").play(&Subject::myriad())
}

const SITE: &str = "--- about\nA file is served.\n--- file html/a.txt\nhello\n--- server\nadd_header X-A 1;\n\
                    location /gone { return 410; }\n--- request\nGET /a.txt\n--- answer\n";

#[test]
fn a_right_expectation_passes() {
    assert_eq!(play(&format!("{SITE}200\nX-A: 1\n! X-B\n\nhello\n")), Outcome::Passed);
}

#[test]
fn each_wrong_expectation_fails_with_reason() {
    for (expected, said) in [
        ("404", "status: expected 404, found 200"),
        ("200\nX-A: 2", "X-A: expected [\"2\"], found [\"1\"]"),
        ("200\n! X-A", "X-A: expected none"),
        ("200\n\ngoodbye", "-goodbye"),
        ("no answer", "expected no answer"),
        ("200\n--- request\nGET /gone\n--- answer\n200", "GET /gone"),
    ] {
        let outcome = play(&format!("{SITE}{expected}\n"));
        assert!(matches!(&outcome, Outcome::Failed(what) if what.contains(said)), "{expected}: {outcome:?}");
    }
}

#[test]
fn an_answer_at_last_may_come_later() {
    let counting = |expected: &str| {
        play(&format!(
            "--- about\nIt counts.\n--- origin php fastcgi\n=> *\n\n{{number}}\n--- server\n\
             location / {{ @PARAMS@ fastcgi_pass @php@; }}\n--- request\nGET /\n--- {expected}\n200\n\n~ ^3\\b\n"
        ))
    };
    assert_eq!(counting("answer at last"), Outcome::Passed);
    assert!(matches!(counting("answer"), Outcome::Failed(_)));
}

#[test]
fn a_configuration_that_is_wrongly_accepted_or_refused_fails() {
    let about = "--- about\nx\n--- server\n";
    assert!(matches!(play(&format!("{about}gzip on;\n--- refused\n")), Outcome::Failed(_)));
    assert!(matches!(play(&format!("{about}gzzip on;\n--- warned\n")), Outcome::Failed(_)));
    assert!(matches!(play(&format!("{about}gzzip on;\n--- refused\nanother text\n")), Outcome::Failed(_)));
    assert_eq!(play(&format!("{about}gzzip on;\n--- refused\ngzip\n")), Outcome::Passed);
}

#[test]
fn every_golden_file_is_parsable_and_declares_coverage() {
    let files = find(&folder());
    assert!(!files.is_empty());
    for (name, path) in files {
        let text = std::fs::read_to_string(path).expect("a file");
        let case = Case::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!case.covers.is_empty(), "{name}: the section `covers` is missing");
    }
}
