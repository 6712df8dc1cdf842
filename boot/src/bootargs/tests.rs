//! Lines that a boot loader may pass.

use super::*;

fn commands(text: &str) -> Vec<&str> {
    BootArguments::parse(text).unwrap_or_else(|error| panic!("{error}")).commands().collect()
}

fn refused(text: &str) -> BootArgumentError<'_> {
    BootArguments::parse(text).expect_err(text)
}

#[test]
fn commands_come_in_order_with_their_blanks() {
    let text = "anvil.cmd=info  anvil.cmd=\"read 0  1\"\tanvil.cmd=\"\"\n\"anvil.cmd=gpt\" anvil.cmd=a=b";
    assert_eq!(commands(text), ["info", "read 0  1", "", "gpt", "a=b"]);
}

#[test]
fn an_empty_line_asks_for_nothing() {
    for text in ["", "  \t\n", "\0", " \0anvil.interactive"] {
        let all = BootArguments::parse(text).unwrap();
        assert_eq!((all.interactive, all.writable, all.commands().count()), (false, None, 0), "{text:?}");
    }
}

#[test]
fn the_words_of_others_are_passed_over_whatever_they_hold() {
    let text = "console=ttyAMA0 root=\"/dev/x y\" quiet=\"a\"b\"c anvil.cmd=no\" xanvil.cmd=no anvil ANVIL.rw=all é=\u{1} \
                anvil.interactive";
    let all = BootArguments::parse(text).unwrap();
    assert_eq!((all.interactive, all.writable, all.commands().count()), (true, None, 0));
}

#[test]
fn a_range_is_armed_as_it_is_written_and_no_other_way() {
    for (text, wanted) in [
        ("anvil.rw=all", Writable::All),
        ("anvil.rw=\"all\"", Writable::All),
        ("anvil.rw=0..0", Writable::Blocks { first: 0, last: 0 }),
        ("anvil.rw=100..0xFF", Writable::Blocks { first: 100, last: 255 }),
        ("anvil.rw=0..18446744073709551615", Writable::Blocks { first: 0, last: u64::MAX }),
    ] {
        assert_eq!(BootArguments::parse(text).unwrap().writable, Some(wanted), "{text}");
    }
    for range in
        ["", "ALL", "all ", "1", "1..", "..1", "2..1", "1...2", "1..2..3", "+1..2", "-1..2", "0x..1", "1,2", "١..٢"]
    {
        let text = format!("anvil.rw=\"{range}\"");
        assert!(matches!(refused(&text), BootArgumentError::Range(_)), "{text}");
    }
    assert!(matches!(refused("anvil.rw=0..18446744073709551616"), BootArgumentError::Range(_)));
}

#[test]
fn flushes_are_deferred_by_a_delay_that_makes_sense_and_once_only() {
    for (text, milliseconds) in [("anvil.defer=1", 1), ("anvil.defer=\"1000\"", 1000), ("anvil.defer=0xea60", 60_000)] {
        let wanted = Some(Duration::from_millis(milliseconds));
        assert_eq!(BootArguments::parse(text).unwrap().deferral, wanted, "{text}");
    }
    for delay in ["", "0", "60001", "86400000", "18446744073709551616", "-1", "+1", "1s", "1.5", "all"] {
        let text = format!("anvil.defer={delay}");
        assert_eq!(refused(&text), BootArgumentError::Delay(&text));
        assert!(refused(&text).to_string().contains("1 to 60000 milliseconds"), "{text}");
    }
    assert_eq!(refused("anvil.defer=1 anvil.rw=all anvil.defer=2"), BootArgumentError::Twice("anvil.defer=2"));
    assert_eq!(BootArguments::parse("anvil.rw=all defer=1").unwrap().deferral, None);
}

#[test]
fn writes_are_armed_once_only() {
    assert_eq!(refused("anvil.rw=1..2 anvil.rw=all"), BootArgumentError::Twice("anvil.rw=all"));
}

#[test]
fn an_unknown_word_of_ours_is_named() {
    for word in ["anvil.", "anvil.write=all", "anvil.cmds=info", "anvil.Interactive", "anvil.rw.x=all"] {
        let text = format!("quiet {word} anvil.cmd=info");
        assert_eq!(refused(&text), BootArgumentError::Unknown(word));
        assert!(refused(&text).to_string().contains(word));
    }
}

#[test]
fn a_value_stands_where_one_belongs_and_nowhere_else() {
    for word in ["anvil.cmd", "anvil.rw", "anvil.defer", "anvil.interactive=", "anvil.interactive=yes"] {
        assert_eq!(refused(word), BootArgumentError::Value(word));
    }
}

#[test]
fn a_quote_that_is_not_closed_is_an_error_even_in_the_words_of_others() {
    for (text, word) in [
        ("anvil.cmd=\"read 0 1", "anvil.cmd=\"read 0 1"),
        ("\"", "\""),
        ("quiet root=\"x anvil.cmd=info", "root=\"x anvil.cmd=info"),
        ("anvil.cmd=\"a\" \"anvil.rw=all", "\"anvil.rw=all"),
    ] {
        assert_eq!(refused(text), BootArgumentError::Unbalanced(word));
    }
}

#[test]
fn quotes_inside_a_value_are_refused_rather_than_guessed_at() {
    for text in ["anvil.cmd=a\"b c\"", "anvil.cmd=\"a\"\"b\"", "anvil.c\"m\"d=x", "\"anvil.cmd=\"x\"\""] {
        assert!(matches!(refused(text), BootArgumentError::Quotes(_)), "{text}");
    }
}

#[test]
fn a_control_character_is_refused_and_shown_escaped() {
    let error = refused("anvil.cmd=\"a\u{1b}[2J\"").to_string();
    assert!(error.contains(r"a\u{1b}[2J") && !error.contains('\u{1b}'), "{error}");
}

#[test]
fn a_very_long_line_is_read_to_its_end_and_an_error_about_it_stays_short() {
    let long = "x ".repeat(100_000) + "anvil.cmd=" + &"y".repeat(100_000);
    assert_eq!(commands(&long).first().map(|line| line.len()), Some(100_000));
    let many = "anvil.cmd=info ".repeat(10_000);
    assert_eq!(commands(&many).len(), 10_000);
    let unknown = String::from("anvil.") + &"z".repeat(100_000);
    assert!(refused(&unknown).to_string().len() < 200);
}
