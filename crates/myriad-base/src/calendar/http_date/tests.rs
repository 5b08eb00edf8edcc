use super::*;

/// Start of 1 January 2026 in UTC, in seconds since the Unix epoch.
const NOW: u64 = 1_767_225_600;

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

#[test]
fn known_times_are_written() {
    for (seconds, date) in [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ] {
        assert_eq!(text(&format_http_date(seconds)), date);
    }
}

#[test]
fn the_three_formats_are_read() {
    for date in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "  sun, 06 nov 1994 08:49:37 GMT ",
    ] {
        assert_eq!(parse_http_date(date.as_bytes(), NOW), Some(784_111_777), "{date}");
    }
    assert_eq!(parse_http_date(b"Wed Nov 16 08:49:37 1994", NOW), Some(784_111_777 + 10 * 86_400));
}

#[test]
fn two_digit_years_are_the_nearest() {
    let year = |date: &str, now| {
        text(&format_http_date(parse_http_date(date.as_bytes(), now).unwrap()))[12..16].to_owned()
    };
    assert_eq!(year("Sunday, 06-Nov-76 08:49:37 GMT", NOW), "2076");
    assert_eq!(year("Sunday, 06-Nov-77 08:49:37 GMT", NOW), "1977");
    assert_eq!(year("Sunday, 06-Nov-05 08:49:37 GMT", 900_000_000), "2005");
    assert_eq!(year("Sunday, 06-Nov-26 08:49:37 GMT", NOW), "2026");
}

#[test]
fn what_is_no_date_is_refused() {
    for date in [
        "",
        "0",
        "-1",
        "Sun",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT+1",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 29 Feb 2100 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 19x4 08:49:37 GMT",
        "Xxx, 06 Nov 1994 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 199",
        "Sun Nov  6 08:49:37 1994 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday 06-Nov-94 08:49:37 GMT",
    ] {
        assert_eq!(parse_http_date(date.as_bytes(), NOW), None, "{date}");
    }
}

#[test]
fn what_is_written_is_read_back_for_every_day() {
    let mut weekday = 4;
    let mut seconds = 0;
    while seconds < 20_000_000_000 {
        let date = format_http_date(seconds + seconds % 86_399);
        assert_eq!(parse_http_date(&date, NOW), Some(seconds + seconds % 86_399), "{}", text(&date));
        assert_eq!(&date[..3], DAYS[weekday], "{}", text(&date));
        weekday = (weekday + 1) % 7;
        seconds += 86_400;
    }
}

#[test]
fn damaged_dates_never_panic() {
    for seed in 0..2000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let dates: [&[u8]; 3] = [
            b"Sun, 06 Nov 1994 08:49:37 GMT",
            b"Sunday, 06-Nov-94 08:49:37 GMT",
            b"Sun Nov  6 08:49:37 1994",
        ];
        let mut date = random.choice(dates).unwrap().to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..date.len());
            date[at] = random.u8(..);
        }
        date.truncate(random.usize(..=date.len()));
        parse_http_date(&date, random.u64(..));
    }
}

#[test]
fn dates_of_cookies_are_written_as_by_nginx() {
    assert_eq!(format_cookie_date(2_145_916_555), "Thu, 31-Dec-37 23:55:55 GMT");
    assert_eq!(format_cookie_date(1_361_955_004), "Wed, 27-Feb-13 08:50:04 GMT");
    assert_eq!(format_cookie_date(4_102_444_800), "Fri, 01-Jan-2100 00:00:00 GMT");
}
