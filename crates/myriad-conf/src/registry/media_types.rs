//! Lists of media types.

use super::{Arguments, SetterResult};

/// Adds media types to a list, in lower case, always including `text/html`. `*` matches every type.
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
