//! What "always allow this command" is bound to.

/// The command with blanks outside of quotes made single spaces and removed at the ends of lines; nothing else is changed, so that two commands
/// have the same key only if a shell reads the same words in them.
///
/// Where blanks may mean something that is not followed here, a text is its own key: with an open quote, a comment or a here-document; where the
/// end of a line is escaped, which joins what a blank after it parts; where quotes may stand inside of a substitution that is quoted itself; in
/// `${…}`, and in `$'…'`, which has escapes of its own.
pub fn grant_key(command: &str) -> String {
    normal(command).unwrap_or_else(|| command.to_owned())
}

fn normal(command: &str) -> Option<String> {
    let substitutes = command.contains("$(") || command.contains('`');
    if ["<<", "#", "\\\n", "${", "$'"]
        .iter()
        .any(|sign| command.contains(sign))
        || substitutes && command.contains('"')
    {
        return None;
    }
    let mut key = String::with_capacity(command.len());
    let mut quote = None;
    let mut blanks = false;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        if quote.is_none() && matches!(character, ' ' | '\t') {
            blanks = true;
            continue;
        }
        if std::mem::take(&mut blanks)
            && !key.is_empty()
            && !key.ends_with('\n')
            && character != '\n'
        {
            key.push(' ');
        }
        key.push(character);
        match (quote, character) {
            // Blanks after `$(` in double quotes are kept as they are, which is only more exact.
            (None, '\'' | '"' | '`') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None | Some('"' | '`'), '\\') => key.extend(characters.next()),
            _ => {}
        }
    }
    quote.is_none().then_some(key)
}
