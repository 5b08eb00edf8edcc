//! Conditions of `<IfVersion>`, evaluated for a current release of Apache 2.4.

use myriad_base::digits::decimal;

use crate::apache::lines::ApacheItem;

/// Version of Apache for which conditions are evaluated.
const VERSION: [u32; 3] = [2, 4, 71];

/// Returns whether the condition of an `<IfVersion>` is true; `None` if it is a regex or cannot be parsed.
pub(crate) fn holds(item: &ApacheItem) -> Option<bool> {
    let (operator, version) = match &item.words[..] {
        [version] => ("=", version),
        [operator, version] => (operator.as_str(), version),
        _ => return None,
    };
    let (is_negated, operator) = operator.strip_prefix('!').map_or((false, operator), |rest| (true, rest));
    let order = VERSION.cmp(&parse(version)?);
    let holds = match operator {
        "=" | "==" => order.is_eq(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        _ => return None,
    };
    Some(holds != is_negated)
}

/// Parses up to three numbers. Missing ones are 0, as in Apache. Returns `None` if the version is invalid.
fn parse(version: &str) -> Option<[u32; 3]> {
    let mut numbers = [0; 3];
    for (index, number) in version.split('.').enumerate() {
        *numbers.get_mut(index)? = decimal(number)?;
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    /// Compares the results with those of `apache2 -t` of Apache 2.4.71.
    #[test]
    fn conditions_are_those_of_apache_2_4() {
        for (condition, result) in [
            ("2.4", Some(false)),
            ("= 2.4", Some(false)),
            ("= 2.4.71", Some(true)),
            (">= 2.4", Some(true)),
            ("> 2", Some(true)),
            ("<= 2.4", Some(false)),
            ("< 2.4", Some(false)),
            ("!= 2.4", Some(true)),
            ("== 2", Some(false)),
            ("> 2.4.99", Some(false)),
            ("!>= 2.4", Some(false)),
            ("!< 2.4", Some(true)),
            (">= 3", Some(false)),
            ("~ ^2.4", None),
            ("= /^2.4/", None),
            ("/2.4/", None),
            (">=2.4", None),
            ("== 2.4.x", None),
            ("=> 2.4", None),
            ("", None),
        ] {
            let (items, _) = lines::read(&format!("<IfVersion {condition}>\n</IfVersion>"));
            assert_eq!(holds(&items[0]), result, "{condition}");
        }
    }
}
