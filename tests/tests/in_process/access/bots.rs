//! Tests of the variables `$bot*`.

use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables};

#[test]
fn robots_are_shown_by_class_name_and_network() {
    // Test requests come from the loopback address.
    let forged = [("bot", "forged"), ("bot_name", "Googlebot"), ("bot_verified", "0")];
    let fields = &[("User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1)")];
    assert_variables(&mut VariableCase { fields, ..VariableCase::default() }.begin(), &forged);
    let fields = &[("User-Agent", "Mozilla/5.0 Firefox/133.0")];
    assert_unset(
        &mut VariableCase { fields, ..VariableCase::default() }.begin(),
        &["bot", "bot_name", "bot_verified"],
    );
}

#[test]
fn browser_that_fetches_ahead_of_a_click_has_a_class() {
    for (name, value) in
        [("Sec-Purpose", "prefetch;prerender"), ("purpose", "prefetch"), ("X-moz", "prefetch")]
    {
        let fields = &[("User-Agent", "Mozilla/5.0 Firefox/133.0"), (name, value)];
        assert_variables(
            &mut VariableCase { fields, ..VariableCase::default() }.begin(),
            &[("bot", "prefetch")],
        );
    }
    for (name, value) in [("Sec-Purpose", "fetch"), ("X-Other", "prefetch"), ("Referer", "prefetch")] {
        let fields = &[("User-Agent", "Mozilla/5.0 Firefox/133.0"), (name, value)];
        assert_unset(&mut VariableCase { fields, ..VariableCase::default() }.begin(), &["bot"]);
    }
}
