//! Which addresses Telegram takes as a link.

/// Longer ones are shown instead.
const LONGEST_BYTES: usize = 2_048;

/// Whether a link to this address is one to Telegram too. It takes web addresses whose host has a dot, and its own; `mailto:` is refused, but an
/// address of mail in the text is recognised by every client.
pub(super) fn is_taken(address: &str) -> bool {
    if address.len() > LONGEST_BYTES
        || address.contains(|c: char| c.is_whitespace() || c.is_control())
    {
        return false;
    }
    let Some((scheme, rest)) = address.split_once("://") else {
        return false;
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = &rest[..end];
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => is_web_host(host),
        "tg" => {
            !host.is_empty()
                && host
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        }
        _ => false,
    }
}

fn is_web_host(host: &str) -> bool {
    // Someone's name before the host hides where a link leads to.
    if host.contains(['@', '\\', '<', '>', '"', '%']) {
        return false;
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok_and(|port| port > 0) => name,
        Some(_) => return false,
        None => host,
    };
    name.contains('.') && name.split('.').all(|label| !label.is_empty())
}

/// How an address is written behind the text that it belongs to.
pub(super) fn shown(address: &str) -> &str {
    match address.get(..MAIL.len()) {
        Some(scheme) if scheme.eq_ignore_ascii_case(MAIL) => &address[MAIL.len()..],
        Some(_) | None => address,
    }
}

const MAIL: &str = "mailto:";
