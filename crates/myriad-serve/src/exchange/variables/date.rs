//! `$date_local` and `$date_gmt`.

use myriad_http::date::{Zone, write_time};
use myriad_log::local_time;

/// The time now as `format` says, of the server's zone or of Greenwich.
pub(crate) fn write_date(format: &[u8], gmt: bool, out: &mut Vec<u8>) {
    let now_s = myriad_net::clock::now_ms() / 1000;
    if gmt {
        return write_time(format, now_s, Zone { offset_minutes: 0, name: "GMT" }, out);
    }
    let offset_minutes = local_time::offset_minutes(now_s);
    let sign = if offset_minutes < 0 { '-' } else { '+' };
    let name = match offset_minutes.unsigned_abs() {
        0 => "UTC".to_owned(),
        minutes => format!("{sign}{:02}{:02}", minutes / 60, minutes % 60),
    };
    write_time(format, now_s, Zone { offset_minutes, name: &name }, out);
}
