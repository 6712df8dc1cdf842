//! The controller: registers, commands, Identify, and what Apple added.

use core::mem::offset_of;

use nvme::spec::{self, command, identify, log, registers, status};
use nvme::transport::apple::spec as apple;
use sim::facts::{apple as added, command as facts, controller, identify as data, status as codes};

use crate::compare::{File, Row, rows};

pub(crate) fn files() -> Vec<File> {
    let text = include_str!("../../../nvme/src/spec.rs");
    let rows = rows![spec::PAGE => controller::PAGE, spec::PAGE_SHIFT => controller::PAGE.trailing_zeros()];
    let base = File { path: "nvme/src/spec.rs", module: "spec", text, rows };
    let text = include_str!("../../../nvme/src/spec/registers.rs");
    let registers = File { path: "nvme/src/spec/registers.rs", module: "registers", text, rows: standard() };
    let text = include_str!("../../../nvme/src/spec/command.rs");
    let command = File { path: "nvme/src/spec/command.rs", module: "command", text, rows: commands() };
    let text = include_str!("../../../nvme/src/spec/identify.rs");
    let identify = File { path: "nvme/src/spec/identify.rs", module: "identify", text, rows: identities() };
    let text = include_str!("../../../nvme/src/spec/log.rs");
    let log = File { path: "nvme/src/spec/log.rs", module: "log", text, rows: logs() };
    let text = include_str!("../../../nvme/src/spec/status.rs");
    // The names of all others are compared by a test of their own.
    let rows = rows![
        status::Status::SUCCESS.code() => codes::SUCCESS.1,
        status::Status::INVALID_NAMESPACE.code() => codes::INVALID_NAMESPACE.1,
    ];
    let status = File { path: "nvme/src/spec/status.rs", module: "status", text, rows };
    let text = include_str!("../../../nvme/src/transport/apple/spec.rs");
    let apple = File { path: "nvme/src/transport/apple/spec.rs", module: "apple", text, rows: linear() };
    vec![base, registers, command, identify, log, status, apple]
}

fn standard() -> Vec<Row> {
    rows![
        registers::CAPABILITIES => controller::CAP,
        registers::VERSION => controller::VS,
        registers::CONFIGURATION => controller::CC,
        registers::STATUS => controller::CSTS,
        registers::ADMIN_QUEUE_ATTRIBUTES => controller::AQA,
        registers::ADMIN_SUBMISSION_QUEUE => controller::ASQ,
        registers::ADMIN_COMPLETION_QUEUE => controller::ACQ,
        registers::ADMIN_COMPLETION_HEAD => controller::ADMIN_CQ_HEAD,
        registers::IO_COMPLETION_HEAD => controller::IO_CQ_HEAD,
        registers::DOORBELLS => controller::DOORBELLS,
        registers::ALL_ONES => controller::GONE,
        registers::SUBMISSION_ENTRY_SHIFT => controller::IOSQES,
        registers::COMPLETION_ENTRY_SHIFT => controller::IOCQES,
        registers::CAP::MQES => controller::CAP_MQES,
        registers::CAP::CQR => controller::CAP_CQR,
        registers::CAP::TO => controller::CAP_TO,
        registers::CAP::DSTRD => controller::CAP_DSTRD,
        registers::CAP::CSS => controller::CAP_CSS,
        registers::CAP::MPSMIN => controller::CAP_MPSMIN,
        registers::CAP::MPSMAX => controller::CAP_MPSMAX,
        registers::CC::EN => controller::CC_EN,
        registers::CC::CSS => controller::CC_CSS,
        registers::CC::MPS => controller::CC_MPS,
        registers::CC::AMS => controller::CC_AMS,
        registers::CC::SHN => controller::CC_SHN,
        registers::CC::SHN::None => controller::CC_SHN.put32(controller::SHN_NONE),
        registers::CC::SHN::Normal => controller::CC_SHN.put32(controller::SHN_NORMAL),
        registers::CC::SHN::Abrupt => controller::CC_SHN.put32(controller::SHN_ABRUPT),
        registers::CC::IOSQES => controller::CC_IOSQES,
        registers::CC::IOCQES => controller::CC_IOCQES,
        registers::CSTS::RDY => controller::CSTS_RDY,
        registers::CSTS::CFS => controller::CSTS_CFS,
        registers::CSTS::SHST => controller::CSTS_SHST,
        registers::CSTS::SHST::Normal => controller::CSTS_SHST.put32(controller::SHST_NONE),
        registers::CSTS::SHST::Occurring => controller::CSTS_SHST.put32(controller::SHST_IN_PROGRESS),
        registers::CSTS::SHST::Complete => controller::CSTS_SHST.put32(controller::SHST_COMPLETE),
        registers::AQA::ASQS => controller::AQA_ASQS,
        registers::AQA::ACQS => controller::AQA_ACQS,
    ]
}

fn commands() -> Vec<Row> {
    rows![
        command::SUBMISSION_ENTRY => facts::SQE_BYTES,
        command::COMPLETION_ENTRY => facts::CQE_BYTES,
        command::EVERY_NAMESPACE => facts::BROADCAST,
        command::admin::DELETE_SUBMISSION_QUEUE => facts::DELETE_SQ,
        command::admin::CREATE_SUBMISSION_QUEUE => facts::CREATE_SQ,
        command::admin::GET_LOG_PAGE => facts::GET_LOG_PAGE,
        command::admin::DELETE_COMPLETION_QUEUE => facts::DELETE_CQ,
        command::admin::CREATE_COMPLETION_QUEUE => facts::CREATE_CQ,
        command::admin::IDENTIFY => facts::IDENTIFY,
        command::admin::ABORT => facts::ABORT,
        command::admin::SET_FEATURES => facts::SET_FEATURES,
        command::admin::GET_FEATURES => facts::GET_FEATURES,
        command::admin::ASYNCHRONOUS_EVENT_REQUEST => facts::ASYNC_EVENT,
        command::admin::DOORBELL_BUFFER_CONFIG => facts::DOORBELL_BUFFER,
        command::nvm::FLUSH => facts::FLUSH,
        command::nvm::WRITE => facts::WRITE,
        command::nvm::READ => facts::READ,
        command::nvm::COMPARE => facts::COMPARE,
        command::nvm::WRITE_ZEROES => facts::WRITE_ZEROES,
        command::nvm::DATASET_MANAGEMENT => facts::DATASET_MANAGEMENT,
        command::FORCE_UNIT_ACCESS => facts::RW_FUA.mask(),
        command::DEALLOCATE => facts::DSM_DEALLOCATE.mask(),
        command::RANGE => facts::DSM_RANGE,
        command::NOT_ABORTED => facts::ABORT_NOT_DONE.mask(),
        command::feature::WRITE_CACHE => facts::FEATURE_WRITE_CACHE,
        command::feature::QUEUES => facts::FEATURE_QUEUES,
        command::feature::EVENTS => facts::FEATURE_EVENTS,
        command::SAVE => facts::FEATURE_SAVE.mask(),
        command::OPCODE_TO_DEVICE => facts::OPCODE_TO_DEVICE,
        command::QUEUE_CONTIGUOUS => facts::CREATE_PC.put(1),
        command::COMPLETION_STATUS_WORD => facts::CQE_CID,
        offset_of!(command::SubmissionEntry, opcode) => facts::SQE_OPCODE,
        offset_of!(command::SubmissionEntry, flags) => facts::SQE_FLAGS,
        offset_of!(command::SubmissionEntry, identifier) => facts::SQE_CID,
        offset_of!(command::SubmissionEntry, namespace) => facts::SQE_NSID,
        offset_of!(command::SubmissionEntry, reserved) => facts::SQE_CDW2,
        offset_of!(command::SubmissionEntry, metadata) => facts::SQE_MPTR,
        offset_of!(command::SubmissionEntry, prp1) => facts::SQE_PRP1,
        offset_of!(command::SubmissionEntry, prp2) => facts::SQE_PRP2,
        offset_of!(command::SubmissionEntry, dwords) => facts::SQE_CDW10,
        offset_of!(command::CompletionEntry, result) => facts::CQE_RESULT,
        offset_of!(command::CompletionEntry, result_high) => facts::CQE_RESULT_HIGH,
        offset_of!(command::CompletionEntry, queue_head) => facts::CQE_SQHD,
        offset_of!(command::CompletionEntry, queue) => facts::CQE_SQID,
        offset_of!(command::CompletionEntry, identifier) => facts::CQE_CID,
        offset_of!(command::CompletionEntry, status) => facts::CQE_STATUS,
    ]
}

fn identities() -> Vec<Row> {
    rows![
        identify::NAMESPACE => data::CNS_NAMESPACE,
        identify::CONTROLLER => data::CNS_CONTROLLER,
        identify::ACTIVE_NAMESPACES => data::CNS_ACTIVE,
        identify::DESCRIPTORS => data::CNS_DESCRIPTORS,
        identify::INDEPENDENT_NAMESPACE => data::CNS_INDEPENDENT,
        identify::INDEPENDENT_FEATURES => data::INDEPENDENT_NSFEAT,
        identify::NO_VOLATILE_CACHE => data::INDEPENDENT_NO_CACHE.mask(),
        identify::COMMAND_SET => data::DESCRIPTOR_COMMAND_SET,
        identify::SIZE => data::BYTES,
        identify::FORMATS => data::LBAF,
        identify::NAMESPACE_VENDOR => data::NSTYPE,
        identify::DEALLOCATION => data::DLFEAT,
        identify::NAMESPACE_ATTRIBUTES => data::NSATTR,
        identify::DOORBELL_BUFFERS => data::OACS_DOORBELL_BUFFER,
        identify::COMPARE => data::ONCS_COMPARE,
        identify::DATASET_MANAGEMENT => data::ONCS_DATASET,
        identify::WRITE_ZEROES => data::ONCS_WRITE_ZEROES,
        identify::SAVE_AND_SELECT => data::ONCS_SELECT,
        identify::CONTROLLER_ADMIN => data::OACS,
        identify::CONTROLLER_QUEUES => data::SQES,
        offset_of!(identify::ControllerHead, vendor) => data::VID,
        offset_of!(identify::ControllerHead, subsystem_vendor) => data::SSVID,
        offset_of!(identify::ControllerHead, serial) => data::SN,
        offset_of!(identify::ControllerHead, model) => data::MN,
        offset_of!(identify::ControllerHead, firmware) => data::FR,
        offset_of!(identify::ControllerHead, arbitration_burst) => data::RAB,
        offset_of!(identify::ControllerHead, oui) => data::IEEE,
        offset_of!(identify::ControllerHead, multi_path) => data::CMIC,
        offset_of!(identify::ControllerHead, mdts) => data::MDTS,
        offset_of!(identify::ControllerHead, controller) => data::CNTLID,
        offset_of!(identify::ControllerHead, version) => data::VER,
        offset_of!(identify::ControllerHead, rtd3_resume) => data::RTD3R,
        offset_of!(identify::ControllerHead, rtd3_entry) => data::RTD3E,
        offset_of!(identify::ControllerHead, optional_events) => data::OAES,
        identify::CONTROLLER_ADMIN + offset_of!(identify::ControllerAdmin, optional_commands) => data::OACS,
        identify::CONTROLLER_ADMIN + offset_of!(identify::ControllerAdmin, abort_limit) => data::ACL,
        identify::CONTROLLER_ADMIN + offset_of!(identify::ControllerAdmin, event_limit) => data::AERL,
        identify::CONTROLLER_ADMIN + offset_of!(identify::ControllerAdmin, firmware) => data::FRMW,
        identify::CONTROLLER_ADMIN + offset_of!(identify::ControllerAdmin, log_pages) => data::LPA,
        identify::CONTROLLER_ADMIN + offset_of!(identify::ControllerAdmin, error_entries) => data::ELPE,
        identify::CONTROLLER_ADMIN + offset_of!(identify::ControllerAdmin, power_states) => data::NPSS,
        identify::CONTROLLER_QUEUES + offset_of!(identify::ControllerQueues, submission_entry) => data::SQES,
        identify::CONTROLLER_QUEUES + offset_of!(identify::ControllerQueues, completion_entry) => data::CQES,
        identify::CONTROLLER_QUEUES + offset_of!(identify::ControllerQueues, most_commands) => data::MAXCMD,
        identify::CONTROLLER_QUEUES + offset_of!(identify::ControllerQueues, namespaces) => data::NN,
        identify::CONTROLLER_QUEUES + offset_of!(identify::ControllerQueues, optional_commands) => data::ONCS,
        identify::CONTROLLER_QUEUES + offset_of!(identify::ControllerQueues, fused) => data::FUSES,
        identify::CONTROLLER_QUEUES + offset_of!(identify::ControllerQueues, format_attributes) => data::FNA,
        identify::CONTROLLER_QUEUES + offset_of!(identify::ControllerQueues, volatile_cache) => data::VWC,
        identify::CONTROLLER_QUEUES + offset_of!(identify::ControllerQueues, atomic_write) => data::AWUN,
        offset_of!(identify::NamespaceHead, size) => data::NSZE,
        offset_of!(identify::NamespaceHead, capacity) => data::NCAP,
        offset_of!(identify::NamespaceHead, used) => data::NUSE,
        offset_of!(identify::NamespaceHead, features) => data::NSFEAT,
        offset_of!(identify::NamespaceHead, formats) => data::NLBAF,
        offset_of!(identify::NamespaceHead, format) => data::FLBAS,
        offset_of!(identify::NamespaceHead, metadata) => data::MC,
        offset_of!(identify::NamespaceHead, protection) => data::DPC,
        offset_of!(identify::NamespaceHead, protection_used) => data::DPS,
        offset_of!(identify::NamespaceHead, sharing) => data::NMIC,
        offset_of!(identify::NamespaceHead, reservations) => data::RESCAP,
        offset_of!(identify::Format, metadata) => data::LBAF_MS,
        offset_of!(identify::Format, block_shift) => data::LBAF_LBADS,
        offset_of!(identify::Format, performance) => data::LBAF_RP,
    ]
}

fn logs() -> Vec<Row> {
    rows![
        log::ERRORS => facts::LOG_ERRORS,
        log::HEALTH => facts::LOG_HEALTH,
        log::HEALTH_SIZE => facts::HEALTH_BYTES,
        log::ERROR_SIZE => facts::ERROR_ENTRY,
        offset_of!(log::Health, critical_warning) => facts::HEALTH_WARNING,
        offset_of!(log::Health, temperature) => facts::HEALTH_TEMPERATURE,
        offset_of!(log::Health, available_spare) => facts::HEALTH_SPARE,
        offset_of!(log::Health, spare_threshold) => facts::HEALTH_SPARE_THRESHOLD,
        offset_of!(log::Health, percentage_used) => facts::HEALTH_USED,
        offset_of!(log::Health, reserved) => facts::HEALTH_RESERVED,
        offset_of!(log::Health, units_read) => facts::HEALTH_UNITS_READ,
        offset_of!(log::Health, units_written) => facts::HEALTH_UNITS_WRITTEN,
        offset_of!(log::Health, host_reads) => facts::HEALTH_READS,
        offset_of!(log::Health, host_writes) => facts::HEALTH_WRITES,
        offset_of!(log::Health, busy_minutes) => facts::HEALTH_BUSY,
        offset_of!(log::Health, power_cycles) => facts::HEALTH_CYCLES,
        offset_of!(log::Health, power_on_hours) => facts::HEALTH_HOURS,
        offset_of!(log::Health, unsafe_shutdowns) => facts::HEALTH_UNSAFE,
        offset_of!(log::Health, media_errors) => facts::HEALTH_MEDIA_ERRORS,
        offset_of!(log::Health, error_entries) => facts::HEALTH_ERRORS,
        offset_of!(log::Failed, count) => facts::ERROR_COUNT,
        offset_of!(log::Failed, queue) => facts::ERROR_SQID,
        offset_of!(log::Failed, command) => facts::ERROR_CID,
        offset_of!(log::Failed, status) => facts::ERROR_STATUS,
        offset_of!(log::Failed, parameter) => facts::ERROR_PARAMETER,
        offset_of!(log::Failed, lba) => facts::ERROR_LBA,
        offset_of!(log::Failed, namespace) => facts::ERROR_NSID,
        offset_of!(log::Failed, rest) => facts::ERROR_REST,
    ]
}

fn linear() -> Vec<Row> {
    rows![
        apple::MOST_ENTRIES => added::TAGS,
        apple::FEWEST_ENTRIES => added::LEAST_IO_ENTRIES,
        apple::ADMIN_ENTRIES => added::ADMIN_ENTRIES,
        apple::ALIGNMENT => added::QUEUE_ALIGNMENT,
        apple::PENDING_COMMANDS => added::MAX_PEND_CMDS_CTRL,
        apple::PENDING::ADMIN => added::MAX_PEND_ADMIN,
        apple::PENDING::IO => added::MAX_PEND_IO,
        apple::UNKNOWN_CONTROL_REGISTER => added::UNKNOWN_CTRL,
        apple::UNKNOWN_CONTROL::PRP_NULL_CHECK => added::PRP_NULL_CHECK,
        apple::LINEAR_CONTROL => added::LINEAR_SQ_CTRL,
        apple::LINEAR::ENABLE => added::LINEAR_SQ_EN,
        apple::LINEAR_ADMIN_DOORBELL => added::LINEAR_ASQ_DB,
        apple::LINEAR_IO_DOORBELL => added::LINEAR_IOSQ_DB,
        apple::ADMIN.doorbell => added::LINEAR_ASQ_DB,
        apple::ADMIN.completion_head => controller::ADMIN_CQ_HEAD,
        apple::IO.doorbell => added::LINEAR_IOSQ_DB,
        apple::IO.completion_head => controller::IO_CQ_HEAD,
        apple::TCB_COUNT => added::NVMMU_NUM_TCBS,
        apple::ADMIN_TCB_BASE => added::NVMMU_ASQ_TCB_BASE,
        apple::IO_TCB_BASE => added::NVMMU_IOSQ_TCB_BASE,
        apple::TCB_INVALIDATE => added::NVMMU_TCB_INVAL,
        apple::TCB_STATUS => added::NVMMU_TCB_STAT,
        apple::TCB => added::TCB_BYTES,
        // A driver writes no further than the pointers.
        apple::TCB_WORDS => (added::TCB_PRP2 + 8) / 8,
        apple::FROM_DEVICE => added::DMA_FROM_DEVICE,
        apple::TO_DEVICE => added::DMA_TO_DEVICE,
        apple::direction(facts::READ) => added::DMA_FROM_DEVICE,
        apple::direction(facts::WRITE) => added::DMA_TO_DEVICE,
        apple::direction(facts::IDENTIFY) => added::DMA_FROM_DEVICE,
        apple::direction(facts::CREATE_CQ) => added::DMA_TO_DEVICE,
        offset_of!(apple::TranslationControlBlock, opcode) => added::TCB_OPCODE,
        offset_of!(apple::TranslationControlBlock, direction) => added::TCB_FLAGS,
        offset_of!(apple::TranslationControlBlock, identifier) => added::TCB_TAG,
        offset_of!(apple::TranslationControlBlock, unknown) => added::TCB_UNKNOWN,
        offset_of!(apple::TranslationControlBlock, length) => added::TCB_LENGTH,
        offset_of!(apple::TranslationControlBlock, unknown_words) => added::TCB_UNKNOWN_1,
        offset_of!(apple::TranslationControlBlock, prp1) => added::TCB_PRP1,
        offset_of!(apple::TranslationControlBlock, prp2) => added::TCB_PRP2,
    ]
}
