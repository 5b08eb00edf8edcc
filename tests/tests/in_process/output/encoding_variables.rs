//! Tests of `$gzip_ratio`, `$brotli_ratio` and `$zstd_ratio`.

use myriad_encode::Coding;
use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables};

#[test]
fn a_coding_shows_how_much_it_has_saved() {
    let mut exchange = VariableCase::default().begin();
    let names = ["gzip_ratio", "brotli_ratio", "zstd_ratio"];
    assert_unset(&mut exchange, &names);
    for (name, coding) in names.into_iter().zip([Coding::Gzip, Coding::Brotli, Coding::Zstd]) {
        let outcome = &mut exchange.request.outcome;
        (outcome.head.coding, outcome.head.uncompressed, outcome.sent.body_bytes) = (coding, 2125, 1000);
        assert_variables(&mut exchange, &[(name, "2.13")]);
    }
    assert_unset(&mut exchange, &["gzip_ratio"]);
}
