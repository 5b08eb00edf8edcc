//! Variables `$date_local` and `$date_gmt`.

use myriad_base::calendar::{ZoneOffset, offset_name, write_time};
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads::Moment;
use myriad_exchange::runtime::RowValue::Dated;
use myriad_log::local_time;

/// Variables with the current time, in the format of the SSI command `config timefmt`.
pub const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new("ssi", "date_local", &[Moment], Dated(write_local)),
    RequestVariable::new("ssi", "date_gmt", &[Moment], Dated(write_gmt)),
];

/// Appends the current time in the server's time zone, in `format` (as of `strftime`).
fn write_local(format: &[u8], out: &mut Vec<u8>) {
    let now_s = myriad_net::clock::wall_ms() / 1000;
    let offset_minutes = local_time::offset_minutes(now_s);
    let name = offset_name(offset_minutes);
    write_time(format, now_s, ZoneOffset { minutes: offset_minutes, name: &name }, out);
}

/// Appends the current time in UTC, in `format` (as of `strftime`).
fn write_gmt(format: &[u8], out: &mut Vec<u8>) {
    write_time(format, myriad_net::clock::wall_ms() / 1000, ZoneOffset { minutes: 0, name: "GMT" }, out);
}
