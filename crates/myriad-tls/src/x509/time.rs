//! Reading of times in X.509 data (`UTCTime` and `GeneralizedTime`, RFC 5280 section 4.1.2.5).

use myriad_base::calendar::{YearDigits, parse_x509_time};

use crate::x509::der::{DerReader, MalformedDer, tag};

/// Reads an X.509 time (`UTCTime` or `GeneralizedTime`) and returns it in seconds since the Unix epoch.
pub(crate) fn read(reader: &mut DerReader<'_>) -> Result<i64, MalformedDer> {
    let value = reader.value()?;
    let year = match value.tag {
        tag::UTC_TIME => YearDigits::Two,
        tag::GENERALIZED_TIME => YearDigits::Four,
        _ => return Err(MalformedDer),
    };
    parse_x509_time(value.content, year).ok_or(MalformedDer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asn1_tag_determines_number_of_year_digits() {
        let parsed = |tag: u8, text: &str| {
            let der = [&[tag, text.len() as u8], text.as_bytes()].concat();
            read(&mut DerReader::new(&der))
        };
        assert_eq!(parsed(tag::UTC_TIME, "240229120000Z"), Ok(1_709_208_000));
        assert_eq!(parsed(tag::GENERALIZED_TIME, "20240229120000Z"), Ok(1_709_208_000));
        assert_eq!(parsed(tag::UTC_TIME, "20240229120000Z"), Err(MalformedDer));
        assert_eq!(parsed(tag::OCTET_STRING, "240229120000Z"), Err(MalformedDer));
    }
}
