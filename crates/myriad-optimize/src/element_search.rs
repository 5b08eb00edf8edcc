//! Searches of scripts for elements of the page, such as `document.querySelector('link[rel=stylesheet]')`.

use memchr::memmem;

/// Functions that search for elements by a selector or a name.
const SEARCHES: [&str; 6] =
    ["getElementsByTagName", "querySelector", "querySelectorAll", "$", "jQuery", "find"];
/// Attributes in selectors of style sheets and scripts.
const ATTRIBUTES: [&str; 7] = ["rel", "href", "src", "id", "media", "type", "data"];

/// Returns the part of a script by which it searches for elements with this name, which is in lower case: a call such
/// as `$( "script` with any quotes and white space, or a selector such as `script[src`. `None` if there is none.
pub(crate) fn element_search<'s>(script: &'s str, name: &str) -> Option<&'s str> {
    memmem::find_iter(script.as_bytes(), name.as_bytes()).find_map(|start| {
        let end = start + name.len();
        let (before, after) = (script.get(..start)?, script.get(end..)?);
        if let Some(selector) = after.strip_prefix('[')
            && !before.ends_with(is_part_of_name)
            && let Some(attribute) = ATTRIBUTES.iter().find(|attribute| selector.starts_with(**attribute))
        {
            return script.get(start..end + 1 + attribute.len());
        }
        if after.starts_with(is_part_of_name) {
            return None;
        }
        let call = before.strip_suffix(['"', '\'', '`'])?.trim_end().strip_suffix('(')?.trim_end();
        let function = SEARCHES.iter().find(|function| call.ends_with(**function))?;
        script.get(call.len() - function.len()..end)
    })
}

fn is_part_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_found_in_each_spelling() {
        for (script, found) in [
            ("a = document.getElementsByTagName(\"script\")[0]", "getElementsByTagName(\"script"),
            ("document.querySelector( 'script.x' )", "querySelector( 'script"),
            ("x.querySelectorAll(`script`)", "querySelectorAll(`script"),
            ("$('script')", "$('script"),
            ("jQuery (\n'script:first')", "jQuery (\n'script"),
            ("$(x).find(\"script\")", "find(\"script"),
            ("q = 'head script[src*=a]'", "script[src"),
        ] {
            assert_eq!(element_search(script, "script"), Some(found), "{script}");
        }
    }

    #[test]
    fn other_uses_of_a_name_are_no_searches() {
        for script in [
            "document.createElement('script')",
            "$('scripts')",
            "$('.script')",
            "script[0]",
            "myscript[src]",
            "script = 'script'",
            "\u{e9}script\u{e9}",
            "",
        ] {
            assert_eq!(element_search(script, "script"), None, "{script}");
        }
    }
}
