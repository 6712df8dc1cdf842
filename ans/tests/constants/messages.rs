//! The mailbox, RTKit's messages and the crash record.

use rtkit::{message, spec};
use sim::facts::{crash, mailbox, rtkit as facts};

use crate::compare::{File, Row, rows};

pub(crate) fn files() -> Vec<File> {
    let rows = [transport(), management(), system(), records()].into_iter().flatten().collect();
    let text = include_str!("../../../rtkit/src/spec.rs");
    let spec = File { path: "rtkit/src/spec.rs", module: "spec", text, rows };
    let text = include_str!("../../../rtkit/src/message.rs");
    vec![spec, File { path: "rtkit/src/message.rs", module: "message", text, rows: names() }]
}

fn transport() -> Vec<Row> {
    rows![
        spec::mailbox::CONTROL::FULL => mailbox::FULL,
        spec::mailbox::CONTROL::EMPTY => mailbox::EMPTY,
        spec::mailbox::A2I_CONTROL => mailbox::A2I_CONTROL,
        spec::mailbox::I2A_CONTROL => mailbox::I2A_CONTROL,
        spec::mailbox::A2I_SEND0 => mailbox::A2I_SEND0,
        spec::mailbox::A2I_SEND1 => mailbox::A2I_SEND1,
        spec::mailbox::I2A_RECV0 => mailbox::I2A_RECV0,
        spec::mailbox::I2A_RECV1 => mailbox::I2A_RECV1,
        spec::endpoint::MANAGEMENT => facts::EP_MANAGEMENT,
        spec::endpoint::CRASHLOG => facts::EP_CRASHLOG,
        spec::endpoint::SYSLOG => facts::EP_SYSLOG,
        spec::endpoint::DEBUG => facts::EP_DEBUG,
        spec::endpoint::IOREPORT => facts::EP_IOREPORT,
        spec::endpoint::OSLOG => facts::EP_OSLOG,
        spec::endpoint::FIRST_APPLICATION => facts::EP_APPLICATION,
        spec::message::TYPE => facts::TYPE,
    ]
}

fn management() -> Vec<Row> {
    rows![
        spec::management::HELLO => facts::HELLO,
        spec::management::HELLO_REPLY => facts::HELLO_REPLY,
        spec::management::START_ENDPOINT => facts::STARTEP,
        spec::management::SET_IOP_POWER => facts::SET_IOP_PWR,
        spec::management::SET_IOP_POWER_ACKNOWLEDGE => facts::SET_IOP_PWR_ACK,
        spec::management::ENDPOINT_MAP => facts::EPMAP,
        spec::management::SET_AP_POWER => facts::SET_AP_PWR,
        spec::management::MINIMUM_VERSION => facts::HELLO_MIN,
        spec::management::MAXIMUM_VERSION => facts::HELLO_MAX,
        spec::management::START_NUMBER => facts::STARTEP_EP,
        spec::management::START_FLAG => facts::STARTEP_FLAG.put(facts::STARTEP_START),
        spec::management::MAP_LAST => facts::EPMAP_LAST.mask(),
        spec::management::MAP_BASE => facts::EPMAP_BASE,
        spec::management::MAP_BITMAP => facts::EPMAP_BITMAP,
        spec::management::MAP_MORE => facts::EPMAP_MORE.mask(),
        spec::management::POWER_STATE => facts::PWR_STATE,
    ]
}

fn system() -> Vec<Row> {
    rows![
        spec::buffer::REQUEST => facts::BUFFER,
        spec::buffer::SIZE => facts::BUFFER_SIZE,
        spec::buffer::SIZE_UNIT => facts::BUFFER_PAGE,
        spec::buffer::ADDRESS => facts::BUFFER_ADDRESS,
        spec::buffer::ADDRESS_SENT => facts::BUFFER_ADDRESS_NARROW,
        spec::syslog::LOG => facts::SYSLOG_LOG,
        spec::syslog::INIT => facts::SYSLOG_INIT,
        spec::syslog::LOG_INDEX => facts::SYSLOG_INDEX,
        spec::syslog::INIT_ENTRY_SIZE => facts::SYSLOG_TEXT_BYTES,
        spec::syslog::INIT_ENTRY_COUNT => facts::SYSLOG_ENTRIES,
        spec::syslog::ENTRY_CONTEXT => facts::SYSLOG_CONTEXT,
        spec::syslog::ENTRY_CONTEXT_SIZE => facts::SYSLOG_CONTEXT_BYTES,
        spec::syslog::ENTRY_TEXT => facts::SYSLOG_TEXT,
        spec::ioreport::REPORT => facts::IOREPORT_REPORT,
        spec::ioreport::START => facts::IOREPORT_START,
        spec::oslog::TYPE => facts::OSLOG_TYPE,
        spec::oslog::REQUEST => facts::OSLOG_BUFFER,
        spec::oslog::SIZE => facts::OSLOG_SIZE,
        spec::oslog::ADDRESS => facts::OSLOG_ADDRESS,
        spec::oslog::ADDRESS_UNIT => facts::BUFFER_PAGE,
    ]
}

fn records() -> Vec<Row> {
    rows![
        spec::crash::tag(b"CLHE") => crash::HEADER,
        spec::crash::HEADER => crash::HEADER,
        spec::crash::HEADER_VERSION => crash::HEADER_VERSION,
        spec::crash::HEADER_TOTAL => crash::HEADER_TOTAL,
        spec::crash::HEADER_FLAGS => crash::HEADER_FLAGS,
        spec::crash::HEADER_SIZE => crash::HEADER_BYTES,
        spec::crash::SECTION_FLAGS => crash::SECTION_FLAGS,
        spec::crash::SECTION_LENGTH => crash::SECTION_LENGTH,
        spec::crash::SECTION_HEADER_SIZE => crash::SECTION_BYTES,
        spec::crash::TEXT => crash::STRING,
        spec::crash::VERSION => crash::VERSION,
        spec::crash::TIME => crash::TIME,
        spec::crash::MAILBOX => crash::MAILBOX,
        spec::crash::REGISTERS => crash::REGISTERS,
        spec::crash::CALL_STACK => crash::CALL_STACK,
        spec::crash::ERROR_REGISTERS => crash::ERRORS,
        spec::crash::TASKS => crash::TASKS,
        spec::crash::CORE_DUMP => crash::CORE_DUMP,
        spec::crash::TEXT_CHARACTERS => crash::STRING_TEXT,
        spec::crash::VERSION_CHARACTERS => crash::VERSION_TEXT,
        spec::crash::MAILBOX_ENTRIES => crash::MAILBOX_ENTRIES,
        spec::crash::MAILBOX_TYPE => crash::MAILBOX_TYPE,
        spec::crash::MAILBOX_INDEX => crash::MAILBOX_INDEX,
        spec::crash::MAILBOX_ENTRY_SIZE => crash::MAILBOX_ENTRY_BYTES,
        spec::crash::MAILBOX_ENTRY_TIME => crash::MAILBOX_ENTRY_TIME,
        spec::crash::REGISTERS_SIZE => crash::REGISTER_BYTES,
        spec::crash::REGISTERS_X0 => crash::REGISTER_X0,
        spec::crash::REGISTERS_GENERAL => crash::REGISTER_GENERAL,
        spec::crash::REGISTERS_FAR => crash::REGISTER_FAR,
        spec::crash::REGISTERS_ESR => crash::REGISTER_ESR,
        spec::crash::CALL_STACK_ADDRESSES => crash::CALL_STACK_ADDRESSES,
        spec::crash::ERROR_REGISTER_COUNT => crash::ERROR_COUNT,
    ]
}

/// Endpoints and power states as the driver shows them to others.
fn names() -> Vec<Row> {
    rows![
        message::Endpoint::MANAGEMENT.0 => facts::EP_MANAGEMENT,
        message::Endpoint::CRASHLOG.0 => facts::EP_CRASHLOG,
        message::Endpoint::SYSLOG.0 => facts::EP_SYSLOG,
        message::Endpoint::DEBUG.0 => facts::EP_DEBUG,
        message::Endpoint::IOREPORT.0 => facts::EP_IOREPORT,
        message::Endpoint::OSLOG.0 => facts::EP_OSLOG,
        message::Endpoint::STARTED_AT_BOOT.map(|endpoint| endpoint.0) => facts::EPS_STARTED,
        message::PowerState::OFF.0 => facts::PWR_OFF,
        message::PowerState::SLEEP.0 => facts::PWR_SLEEP,
        message::PowerState::QUIESCED.0 => facts::PWR_QUIESCED,
        message::PowerState::ON.0 => facts::PWR_ON,
        message::PowerState::INITIALISE.0 => facts::PWR_INIT,
    ]
}
