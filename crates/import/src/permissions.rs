//! Permissions in octal, in the form that all three programs use. Pure.

/// Those of owner, group and others; none where it is no such number.
pub(crate) fn permissions(text: &str) -> Option<u32> {
    let digits = text.trim();
    let is_octal = (3..=4).contains(&digits.len())
        && digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    let mode = u32::from_str_radix(digits, 8).ok().filter(|_| is_octal)?;
    (mode <= 0o777).then_some(mode)
}

/// As our own reader takes them.
pub(crate) fn written(mode: u32) -> String {
    format!("{mode:04o}")
}
