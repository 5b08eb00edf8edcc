//! Style sheets: removal of white space, preparation for combination, facts. Rewriting the result changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_optimize::css::{SheetFacts, SheetSource, combine, rewrite_css};
use myriad_optimize::{OptimizeLimits, PageUrl};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let limits = OptimizeLimits::default();
    if let Ok(shorter) = rewrite_css(text, &limits) {
        assert_eq!(rewrite_css(&shorter, &limits).as_deref(), Ok(shorter.as_str()), "{text:?}");
        let facts = |text: &str| SheetFacts::read(text, &limits).expect("a sheet that can be rewritten can be read");
        assert_eq!(facts(text), facts(&shorter), "{text:?}");
    }
    let url = PageUrl::parse("http://a.test/b/c.css").expect("absolute");
    let Ok(sheet) = SheetSource::prepare(text, &url, true, &limits) else { return };
    let other = SheetSource::prepare("x{y:z}", &url, true, &limits).expect("valid");
    assert_eq!(combine(&[&sheet, &other], &limits), Ok(format!("{}\nx{{y:z}}", sheet.text())));
});
