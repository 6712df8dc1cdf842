//! Lines that are commands, and lines that are not.

use super::*;

#[test]
fn every_listed_command_is_read() {
    for (usage, _) in COMMANDS {
        let line = usage.replace("LBA", "7").replace("COUNT", "0x10").replace("DEPTH", "32");
        let line = line
            .replace("BYTE", "0x5a")
            .replace("MS", "9")
            .replace("CONTROLLER", "1")
            .replace("NAMESPACE", "3")
            .replace(['[', ']'], "");
        let line = line.split('|').next().unwrap();
        assert!(matches!(parse(line), Ok(Some(command)) if usage.starts_with(command.name())), "{line}");
        let longer = format!("{line} more");
        assert!(matches!(parse(&longer), Err(ParseError::Usage(_))), "{longer}");
    }
}

#[test]
fn numbers_are_decimal_or_hexadecimal() {
    assert_eq!(parse("read 0x1F 16"), Ok(Some(Command::Read(Span { first: 31, count: 16 }))));
    let most = Span { first: u64::MAX, count: 1 };
    assert_eq!(parse("  sha256\t18446744073709551615 1 "), Ok(Some(Command::Sha256(most))));
}

#[test]
fn what_is_no_number_is_refused_with_its_text() {
    for word in ["x", "-1", "+1", "0x", "0xg", "1.5", "1k", "٣", ""] {
        let line = format!("read {word} 1");
        let error = parse(&line).expect_err("no number");
        assert!(error.to_string().contains(word), "{line}: {error}");
    }
    assert_eq!(parse("read 18446744073709551616 1"), Err(ParseError::TooLarge("read", "18446744073709551616")));
}

#[test]
fn a_count_of_zero_is_refused() {
    for line in
        ["read 0 0", "sha256 5 0x0", "bench randread 0 1", "bench randread 1 0", "soak 0", "zero 7 0", "trim 7 0"]
    {
        assert!(matches!(parse(line), Err(ParseError::Zero(_))), "{line}");
    }
}

#[test]
fn an_unknown_name_is_shown_escaped() {
    let error = parse("re\x1bad 1 2").expect_err("unknown");
    assert_eq!(error.to_string(), r#"unknown command "re\u{1b}ad" (help lists the commands)"#);
    assert_eq!(parse("bench seqread 1 1"), Err(ParseError::Usage(RANDOM_READ)));
}

#[test]
fn a_blank_line_asks_for_nothing() {
    assert_eq!(parse(" \t "), Ok(None));
}

#[test]
fn what_may_be_left_out_may_be_left_out() {
    assert_eq!(parse("select 1"), Ok(Some(Command::Select { controller: 1, namespace: None })));
    assert_eq!(parse("select 1 3"), Ok(Some(Command::Select { controller: 1, namespace: Some(3) })));
    let bench = |plain| Ok(Some(Command::RandomRead { count: 9, depth: 2, plain }));
    assert_eq!(parse("bench randread 9 2"), bench(false));
    assert_eq!(parse("bench randread 9 2 plain"), bench(true));
}

#[test]
fn a_word_that_is_none_of_those_that_can_stand_there_is_answered_with_the_usage() {
    for (line, usage) in [
        ("doorbells", DOORBELLS),
        ("doorbells maybe", DOORBELLS),
        ("bench randread 9 2 fancy", RANDOM_READ),
        ("bench randread 9", RANDOM_READ),
        ("select", SELECT),
        ("select 1 2 3", SELECT),
        ("operations", "operations LBA"),
    ] {
        assert_eq!(parse(line), Err(ParseError::Usage(usage)), "{line}");
    }
    assert_eq!(parse("select x"), Err(ParseError::NotANumber("select", "x")));
}

#[test]
fn a_write_names_its_blocks_its_byte_and_whether_it_is_to_last() {
    let span = Span { first: 7, count: 2 };
    for (line, byte, durable) in [("write 7 2 0xA5", 0xa5, false), ("write 7 2 0 fua", 0, true)] {
        assert_eq!(parse(line), Ok(Some(Command::Write(Write { span, byte, durable }))), "{line}");
    }
    for (line, error) in [
        ("write 7 2 256", ParseError::OutOfRange("write", "256", "0 to 255")),
        ("write 7 0 1", ParseError::Zero("write")),
        ("write 7 2", ParseError::Usage(WRITE)),
        ("write 7 2 1 fast", ParseError::Usage(WRITE)),
        ("write 7 2 x", ParseError::NotANumber("write", "x")),
    ] {
        assert_eq!(parse(line), Err(error), "{line}");
    }
}

#[test]
fn the_write_cache_is_shown_or_turned_on_or_off_for_now_or_for_good() {
    let set = |on, save| Cache::Set { on, save };
    for (line, wish) in [
        ("cache", Cache::Status),
        ("cache on", set(true, false)),
        ("cache off", set(false, false)),
        ("cache on save", set(true, true)),
        ("cache off save", set(false, true)),
    ] {
        assert_eq!(parse(line), Ok(Some(Command::Cache(wish))), "{line}");
    }
    for line in ["cache save", "cache 1", "cache on on", "cache off save now"] {
        assert_eq!(parse(line), Err(ParseError::Usage(CACHE)), "{line}");
    }
}

#[test]
fn a_policy_has_a_name_and_a_delay_that_makes_sense() {
    let deferred = |milliseconds| Policy::Deferred(Duration::from_millis(milliseconds));
    for (line, wish) in [
        ("policy", Policy::Status),
        ("policy strict", Policy::Strict),
        ("policy coalesce", Policy::Coalesce),
        ("policy deferred", deferred(1000)),
        ("policy deferred 1", deferred(1)),
        ("policy deferred 60000", deferred(60_000)),
    ] {
        assert_eq!(parse(line), Ok(Some(Command::Policy(wish))), "{line}");
    }
    for word in ["0", "60001", "86400000", "18446744073709551615"] {
        let line = format!("policy deferred {word}");
        let error = parse(&line).expect_err("out of range");
        assert_eq!(error.to_string(), format!("policy: \"{word}\" is not 1 to 60000 milliseconds"));
    }
    assert_eq!(parse("policy deferred 1s"), Err(ParseError::NotANumber("policy", "1s")));
    for line in ["policy lazy", "policy strict 5", "policy deferred 5 6"] {
        assert_eq!(parse(line), Err(ParseError::Usage(POLICY)), "{line}");
    }
}
