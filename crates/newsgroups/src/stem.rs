//! [`stem`]: the common part of the names of files of one post.

/// The name without what tells volumes, recovery files and small companions apart:
/// `x` of `x.part01.rar`, `x.r07`, `x.vol003+04.par2`, `x.7z.001` and `x.nfo`.
pub(crate) fn stem(name: &str) -> &str {
    let Some((rest, last)) = split(name) else { return name };
    if is(last, &["par2"]) {
        let rest = without(rest, is_recovery_volume);
        return stem_of_archive(rest);
    }
    if is_volume(last) {
        return stem_of_archive(rest);
    }
    if is(last, &["rar", "exe"]) {
        return without(rest, is_part);
    }
    if is_extension(last) { rest } else { name }
}

/// Behind volume numbers and recovery suffixes the name of an archive may be left.
fn stem_of_archive(name: &str) -> &str {
    match split(name) {
        Some((rest, last)) if is(last, &["rar"]) => without(rest, is_part),
        Some((rest, last)) if is(last, &["7z", "zip", "tar", "gz"]) => rest,
        _ => name,
    }
}

fn split(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('.').filter(|(rest, _)| !rest.is_empty())
}

fn without(name: &str, droppable: impl Fn(&str) -> bool) -> &str {
    split(name).filter(|(_, last)| droppable(last)).map_or(name, |(rest, _)| rest)
}

fn is(extension: &str, any: &[&str]) -> bool {
    any.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// `r00`, `s17`, `z01` or `001`.
fn is_volume(extension: &str) -> bool {
    let digits = extension.strip_prefix(['r', 'R', 's', 'S', 'z', 'Z']).unwrap_or(extension);
    let length = if digits.len() < extension.len() { 2..=3 } else { 3..=4 };
    length.contains(&digits.len()) && is_number(digits)
}

/// `part01`.
fn is_part(extension: &str) -> bool {
    extension
        .split_at_checked(4)
        .is_some_and(|(word, digits)| word.eq_ignore_ascii_case("part") && is_number(digits))
}

/// `vol003+04` or `vol003-007`.
fn is_recovery_volume(extension: &str) -> bool {
    extension.split_at_checked(3).is_some_and(|(word, rest)| {
        let numbers = rest.split_once(['+', '-']);
        word.eq_ignore_ascii_case("vol")
            && numbers.is_some_and(|(first, count)| is_number(first) && is_number(count))
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_extension(text: &str) -> bool {
    (1..=5).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_recovery_files_and_companions_share_a_stem() {
        for name in [
            "x.y.rar",
            "x.y.part01.rar",
            "x.y.PART1.RAR",
            "x.y.r07",
            "x.y.s99",
            "x.y.r100",
            "x.y.7z",
            "x.y.7z.001",
            "x.y.zip",
            "x.y.z01",
            "x.y.par2",
            "x.y.vol003+04.par2",
            "x.y.vol000-007.PAR2",
            "x.y.rar.vol000+01.par2",
            "x.y.part01.rar.par2",
            "x.y.nfo",
            "x.y.sfv",
            "x.y.001",
        ] {
            assert_eq!(stem(name), "x.y", "{name}");
        }
    }

    #[test]
    fn what_belongs_to_the_name_stays() {
        for (name, expected) in [
            ("show.s01e02.mkv", "show.s01e02"),
            ("show.s01.mkv", "show.s01"),
            ("name", "name"),
            ("", ""),
            (".nfo", ".nfo"),
            ("v1.0.2024", "v1.0"),
            ("a.part1.mkv", "a.part1"),
            ("ä.rar", "ä"),
            ("a.pär", "a.pär"),
        ] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
