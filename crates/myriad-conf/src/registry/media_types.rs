//! Parser for lists of media types, such as those of `gzip_types`.

use super::{Arguments, SetterResult};

/// Adds the arguments to a list of media types, in lower case. The first directive of a level replaces an inherited
/// list by `text/html`, which is always included. `*` matches every type and replaces the list, also `text/html`.
pub fn add_types(types: &mut Vec<String>, args: &Arguments<'_>) -> SetterResult {
    if args.first || types.is_empty() {
        *types = vec!["text/html".to_owned()];
    }
    for index in 0..args.len() {
        let name = args.name(index)?.to_ascii_lowercase();
        if name == "*" {
            *types = vec![name];
        } else if !types.contains(&name) && types[0] != "*" {
            types.push(name);
        }
    }
    Ok(())
}
