//! The list of all behaviours.

/// Makes a test of every behaviour: `store_suite!(MyFixture);` at the root of a module that has the
/// [`Fixture`] of that name.
#[macro_export]
macro_rules! store_suite {
    ($fixture:ident) => {
        $crate::store_suite! { @topics $fixture;
            tasks {
                configured_tasks_come_back_whole_and_in_their_order,
                replaced_tasks_are_added_changed_moved_and_removed,
                every_allowed_name_works,
            }
            accompanied {
                accompanying_run_is_blocked_and_owed_until_an_apply_begins,
                accompanying_run_is_owed_while_a_cancelled_input_is_withheld,
                a_decision_about_a_state_is_held_except_with_the_input_that_it_is_about,
            }
            restored {
                a_forgotten_attempt_voids_the_input_of_its_task_once,
                a_forgotten_grant_of_a_known_run_voids_the_input,
                attempts_that_are_known_or_older_than_what_is_known_void_nothing,
                pruned_runs_are_not_forgotten,
                attempts_at_tasks_that_are_not_there_are_ignored,
                a_forgotten_attempt_at_a_disabled_task_requests_no_run,
                each_leader_that_begins_has_a_name_of_its_own,
                a_restored_database_counts_nothing_as_applied_and_knows_no_lease,
            }
            brake {
                setting_the_brake_holds_queued_losses_and_names_leased_ones,
                a_leased_run_that_the_brake_names_is_not_leased_again,
                remote_runs_that_wait_are_named_first_with_their_address,
                a_lost_lease_and_a_failed_run_stay_behind_the_brake,
                new_inputs_are_held_if_they_take_instances_away,
                a_held_run_is_replaced_by_an_input_that_loses_nothing,
                a_persons_request_passes_the_brake_and_a_pass_does_not,
                a_released_task_runs_while_the_brake_holds_the_others,
                a_brake_that_ends_or_is_released_lets_everything_run,
                a_leader_that_does_not_know_of_a_release_notes_nothing,
                applied_instances_are_those_of_enabled_tasks,
                first_applies_since_a_time_are_found,
            }
            braked_tasks {
                a_cancelled_run_stays_cancelled_when_the_brake_ends,
                an_infrastructure_is_destroyed_in_spite_of_the_brake,
                a_held_run_leaves_its_concurrency_group_to_other_tasks,
                a_disabled_task_is_held_again_once_it_is_enabled,
                another_declaration_is_held_like_the_one_before,
                runs_that_only_accompany_something_do_not_pass_in_the_place_of_a_held_run,
                a_decision_about_a_state_does_not_pass_the_brake,
                a_leader_without_the_brake_frees_no_held_run,
                a_persons_run_that_fails_is_tried_again_behind_nothing,
            }
            guards {
                small_losses_while_applies_fail_are_one_large_one,
                a_release_is_for_what_its_caller_has_seen,
                a_limit_that_is_added_counts_from_what_is_applied,
                large_loss_is_blocked_until_the_instances_are_back,
                released_losses_count_as_applied,
                requested_run_passes_the_limit_and_reports_its_losses,
            }
            enqueue {
                a_new_input_is_queued_and_due_at_once,
                going_back_to_the_applied_input_cancels_the_queued_run,
                inputs_come_back_byte_for_byte,
            }
            lease {
                a_lease_tells_what_to_do,
                a_lease_tells_the_timeouts_of_its_task,
                a_grant_is_found_by_the_call_that_it_was_made_to,
                a_renewal_never_shortens_the_lease,
                an_expired_lease_is_in_force_again_when_it_is_renewed,
                a_lease_belongs_to_its_holder,
                the_input_of_a_lease_is_read_by_its_holder,
                an_old_epoch_is_refused,
                a_run_that_was_never_leased_is_refused,
            }
            complete {
                success_is_one_event_and_the_last_applied_input,
                the_event_of_a_failed_run_tells_every_error_newest_first,
                a_failed_run_is_tried_afresh_later_and_later,
                a_final_failure_has_no_further_attempt,
                success_ends_the_row_of_failures,
                a_newer_input_begins_the_row_of_failures_anew,
                error_texts_come_back_unchanged,
            }
            attempts {
                a_run_has_a_record_of_each_attempt_with_its_times,
                attempts_that_do_not_count_are_recorded,
                the_end_of_a_run_is_the_last_record,
                the_newest_attempts_of_a_run_stay,
                a_run_keeps_its_cause_with_those_that_are_merged,
            }
            causes {
                a_cause_is_stored_with_its_runs_and_lists_their_tasks,
                a_cause_without_a_run_is_not_stored,
                a_queued_run_collects_the_newest_causes,
                retries_and_newer_runs_take_causes_over,
                a_cancelled_run_leaves_its_causes_to_the_next,
                a_blocked_task_is_among_those_of_a_stored_cause,
                a_run_after_a_block_has_the_causes_of_the_block,
                causes_are_forgotten_after_a_week_and_their_runs_earlier,
            }
            early_failures {
                an_attempt_of_a_sick_worker_does_not_count_and_another_worker_gets_the_run,
                a_second_attempt_of_a_sick_worker_counts,
                the_last_worker_waits_two_seconds_for_another_one_that_fits,
                an_ordinary_failure_prefers_no_other_worker,
                a_run_whose_lease_is_lost_goes_to_another_worker_first,
            }
            details {
                events_have_the_resources_of_their_run,
                details_come_back_however_an_attempt_ended,
                the_created_run_of_a_task_has_details,
                details_are_those_of_the_last_attempt,
                lists_have_the_summaries_of_details,
            }
            plans {
                plans_come_back_unchanged,
                a_plan_changes_nothing_for_its_task,
                plans_and_checks_push_out_no_result_and_are_kept_for_a_while_only,
            }
            states {
                the_version_changes_with_every_change_of_a_state,
                states_are_filtered_by_status,
                events_tell_the_whole_run,
            }
            facts {
                only_tasks_that_have_changed_are_named,
                open_runs_are_told_in_short,
            }
            checks {
                the_newest_check_of_a_task_keeps_its_outcome,
                the_error_of_a_check_is_shown_while_the_task_is_disabled,
                a_check_that_was_cancelled_or_lost_says_so,
                a_check_without_a_key_is_not_kept,
            }
            failed_starts {
                a_run_that_no_worker_can_begin_fails_with_an_event_and_is_never_leased,
                a_requested_run_that_no_worker_can_begin_leaves_no_request_and_no_draft,
                a_check_that_no_worker_can_begin_has_failed,
            }
            access_store {
                a_change_and_its_record_are_one,
                every_change_of_a_caller_is_recorded,
                runs_and_events_name_who_asked_for_them,
                a_destruction_that_waits_names_who_asked_for_it,
                records_come_in_their_order_page_by_page,
                refused_requests_and_logins_drive_out_no_other_record,
                tokens_have_one_name_each,
            }
            sessions {
                a_session_comes_back_as_it_was_stored_until_its_end,
                the_oldest_session_of_a_person_ends_when_one_too_many_begins,
                a_session_beyond_the_number_of_all_is_refused,
                a_session_ends_with_its_token,
                sessions_end_one_by_one_and_by_the_name_of_their_person,
                logins_at_the_same_time_keep_the_limit_and_end_with_their_token,
                sessions_are_read_again_only_if_they_have_changed,
                logins_and_logouts_are_recorded_once,
            }
            ticks {
                a_tick_that_finds_what_is_applied_is_an_event_without_a_run,
                a_tick_that_runs_something_or_comes_while_it_runs_is_no_event,
                the_newest_five_of_runs_and_ticks_are_shown_in_their_order,
                a_tick_that_is_reported_twice_is_one_event,
                ticks_go_with_their_task,
                the_version_changes_with_every_tick,
            }
            traces {
                a_run_keeps_its_trace_and_links_those_that_are_merged,
                a_requested_run_has_the_trace_of_its_request,
            }
            logs {
                lines_come_back_in_order_page_by_page,
                a_log_has_ended_when_its_run_has,
                lines_come_back_unchanged,
                excerpts_come_from_both_ends_and_are_cut,
                excerpts_contain_the_text_as_it_is,
                records_of_attempts_have_the_last_line_of_each,
                logs_that_have_gone_on_are_found_among_many,
            }
            prune {
                a_withdrawn_apply_stays_as_long_as_a_status_is_made_of_it,
                logs_and_events_go_with_their_runs,
                contents_go_with_their_last_input,
                inputs_are_stored_whole_beside_a_prune,
                old_runs_go_but_not_what_a_status_is_made_of,
                prunes_more_runs_and_lines_than_one_transaction_takes,
                the_history_of_deleted_tasks_is_forgotten_by_the_same_rule,
            }
            applied_inputs {
                an_applied_input_stays_while_a_newer_one_is_queued_or_failed,
                a_plan_applies_nothing,
                a_later_task_of_the_same_name_has_no_applied_input,
                an_applied_input_outlives_a_new_definition_and_a_restart,
                pruning_keeps_the_applied_input_however_many_runs_failed,
            }
            housekeeping {
                the_last_housekeeping_is_known_whoever_leads,
                an_earlier_leader_does_no_housekeeping,
                the_space_of_logs_counts_every_line,
                logs_of_successful_runs_go_first_and_the_oldest_of_them,
                a_removed_log_ends_where_it_ended,
                a_log_longer_than_one_transaction_is_removed,
            }
            change_times {
                an_applied_change_is_counted_by_its_phases,
                a_change_that_is_applied_by_a_retry_is_counted_once,
                the_wait_for_consent_is_a_phase_of_its_own,
                each_scheduler_adds_to_rows_of_its_own,
                minutes_become_hours_and_hours_are_forgotten,
            }
            recorded_plans {
                the_first_key_of_plans_stays,
                a_plan_is_replaced_by_the_holder_of_the_lease_alone,
                the_newest_plans_of_a_task_stay,
                plans_go_with_their_runs_and_tasks,
                the_oldest_plans_of_ended_runs_go_first,
            }
            approvals {
                a_run_under_a_rule_waits_until_its_effect_is_approved,
                a_consent_is_used_by_one_run,
                a_further_attempt_has_the_consent_and_a_slow_retry_too,
                a_rejected_effect_ends_its_run_and_withholds_its_input,
                a_reopened_effect_is_asked_for_again,
                decisions_about_another_effect_change_nothing,
                a_requested_run_takes_the_place_of_a_waiting_one,
                a_lost_lease_leaves_a_waiting_run_in_the_queue,
                a_used_consent_ends_with_another_input_of_its_run,
                a_requested_run_keeps_its_consent_when_its_data_come_again,
                a_requested_run_of_a_disabled_task_waits_through_a_restart,
            }
            asked_again {
                an_effect_that_is_reopened_before_its_attempt_ends_is_asked_for_again,
                an_owed_run_is_owed_until_its_apply_is_permitted,
                the_plan_that_people_were_shown_is_known_until_its_consent_is_used,
                a_destruction_has_a_consent_that_it_has_not_used,
            }
            gone_effects {
                an_effect_that_is_gone_comes_back_with_its_consent,
                an_effect_that_is_gone_for_two_minutes_is_withdrawn,
                an_equal_effect_of_a_newer_input_keeps_its_run_and_tells_nobody,
                a_newer_input_is_planned_at_most_once_a_minute,
                a_consent_expires,
                data_that_a_run_has_are_not_gone,
                data_that_come_back_late_are_asked_for_again,
                a_run_that_gives_way_leaves_its_question,
                a_run_that_waits_for_a_forgotten_effect_asks_again,
                the_effect_of_newer_data_is_not_gone,
                a_rejection_of_data_that_are_gone_is_reopened_without_a_run,
            }
            flaps {
                a_flapping_service_is_planned_rarely_and_asked_about_twice,
                a_service_that_flaps_with_other_data_each_time_is_asked_about_twice,
                an_approved_effect_does_not_wait_for_the_next_plan,
            }
            pairs {
                a_blocked_task_keeps_the_consent_to_the_effect_that_waits,
                a_release_of_a_blocked_task_is_no_consent,
                an_approved_run_that_the_brake_holds_is_applied_after_the_release,
                a_release_of_the_brake_is_no_consent,
                a_waiting_run_leaves_its_concurrency_group_to_other_tasks,
            }
            withdrawn_effects {
                a_cancelled_run_withdraws_its_effect,
                another_declaration_and_disabling_withdraw_effects,
                a_destruction_under_a_rule_waits_and_a_rejected_one_is_suspended,
                a_cancelled_destruction_waits_for_another_deletion,
                a_cancelled_leased_run_leaves_no_consent,
                an_effect_without_a_run_is_withdrawn,
                a_restored_database_has_no_consent,
                a_destruction_that_is_cancelled_during_its_apply_asks_again,
                a_rejection_leaves_the_consents_to_other_effects,
                a_cancelled_run_leaves_no_consent_after_a_restart,
                a_run_of_another_declaration_is_unwanted_although_newer_data_wait,
                a_decision_about_the_state_withdraws_consents_and_the_run_asks_again,
                a_part_of_a_destruction_waits_under_its_own_effect,
            }
            rules_of_approval {
                an_effect_that_needs_no_consent_is_applied,
                a_rule_needs_a_worker_that_asks,
                the_default_in_force_is_the_rule_of_tasks_without_their_own,
                the_rule_of_a_deleted_task_counts_for_its_successor,
                a_creation_that_waits_makes_its_task_visible,
                a_rule_that_is_relaxed_asks_no_longer,
                the_api_makes_a_rule_stricter_until_a_declaration_of_the_api,
                an_apply_that_needs_no_consent_uses_one_up,
            }
            shown_effects {
                an_effect_that_an_inspection_has_shown_is_approved_with_the_task,
                another_effect_than_the_shown_one_waits,
                an_effect_that_no_inspection_has_shown_is_not_approved,
                a_rejected_effect_is_not_approved_with_the_task,
                a_shown_effect_is_approved_for_one_apply,
                an_effect_that_waits_keeps_its_run_when_it_is_approved_with_the_task,
            }
            concurrency {
                parallel_workers_lease_every_run_once_and_no_task_twice,
                parallel_requests_for_one_task_queue_one_run,
                accepts_one_of_parallel_completions,
                parallel_lines_are_all_kept,
                elects_one_of_parallel_candidates,
                no_epoch_is_granted_twice,
                a_deposed_leader_writes_nothing_after_the_takeover,
                parallel_beats_are_one_worker,
                parallel_stores_of_one_bundle_are_one,
                a_dropped_request_has_happened_wholly_or_not_at_all,
                a_dropped_completion_has_happened_wholly_or_not_at_all,
            }
            leadership {
                an_expired_leadership_goes_to_the_next_who_asks,
                a_leader_that_comes_back_after_its_expiry_gets_a_new_epoch,
                an_id_belongs_to_the_life_that_was_seen,
                a_lease_outlives_the_use_of_its_id,
                members_are_listed_by_id_with_their_silence,
                members_tell_what_they_are,
            }
            fences {
                refuses_every_epoch_before_the_first_leader,
                an_earlier_leader_is_not_obeyed,
                an_epoch_that_was_never_granted_is_not_obeyed,
                an_expired_leader_is_not_obeyed_though_nobody_took_over,
                a_fence_holds_over_a_restart,
            }
            withdrawals {
                a_file_withdraws_what_is_queued_of_what_it_declares_otherwise,
                run_is_not_tried_again_after_a_file_changes_its_task,
                a_file_refuses_what_was_asked_of_the_declaration_before,
                failed_tasks_are_made_due_once_their_declaration_has_taken_effect,
            }
            workers {
                a_beat_makes_a_worker_known,
                a_beat_updates_what_a_worker_says,
                workers_are_listed_by_host_and_id_with_their_silence,
                a_life_is_replaced_once_and_a_heartbeat_refutes_that_for_good,
                an_id_belongs_to_its_first_registration,
                an_id_that_is_forgotten_is_free,
            }
            capabilities {
                a_run_goes_to_a_worker_with_its_driver,
                a_version_is_matched_exactly_and_with_its_driver,
                odd_names_are_only_names,
            }
            groups {
                parallel_calls_lease_one_apply_of_a_group_the_oldest_first,
                a_newer_input_of_a_run_that_waits_comes_before_runs_that_were_due_at_the_same_time,
                a_remote_run_keeps_its_group_until_it_has_ended,
                a_plan_keeps_no_group,
            }
            cancels {
                a_queued_run_is_withdrawn_with_an_event,
                a_running_run_is_ordered_to_stop_and_not_tried_again,
                cancelled_input_runs_with_the_next_change_or_request,
                a_newer_input_that_was_cancelled_too_stays_withheld,
                a_run_that_was_ended_on_its_server_ends_as_if_it_were_cancelled,
                a_restart_withholds_nothing_that_a_newer_input_replaces,
                a_second_order_has_to_wait_and_then_needs_force,
                a_worker_that_takes_no_note_is_told_from_one_that_does,
                a_cancelled_run_whose_lease_is_lost_is_not_begun_again,
                a_cancelled_destruction_is_suspended_and_goes_on,
                a_suspended_destruction_is_given_up_by_what_retains,
            }
            waits {
                a_run_that_waits_says_so_and_is_not_at_work,
                a_newer_input_ends_a_wait_and_takes_its_place,
                disabling_a_task_ends_its_wait_for_good,
                waiting_run_leaves_its_group_to_other_tasks,
            }
            settings {
                the_first_keys_of_a_cluster_and_of_leases_stay,
                settings_are_read_as_they_were_stored,
                only_the_leader_changes_settings,
                workers_are_listed_with_their_reported_and_matching_settings,
                a_run_goes_to_a_worker_that_has_its_settings,
                a_worker_that_reports_no_settings_gets_any_run,
                plans_go_to_workers_with_the_settings_that_follow,
            }
            queued_settings {
                a_plan_of_a_destruction_has_the_settings_in_force,
                without_settings_no_worker_that_reports_its_own_destroys,
                a_destruction_has_the_settings_of_its_input_and_not_of_its_task,
                a_run_without_settings_is_given_those_that_a_leader_says,
                a_run_that_is_not_as_it_was_is_given_no_settings,
                finds_runs_queued_for_settings_no_longer_in_force,
            }
            settings_walk {
                requeued_run_goes_to_workers_with_the_settings_in_force,
                every_run_survives_a_change_of_settings,
            }
            queue {
                runs_that_wait_are_told_by_what_they_require,
                waiting_checks_of_the_leader_are_counted,
                a_start_makes_failed_runs_due_once_in_a_while,
                a_start_leaves_alone_what_is_not_to_be_tried_again,
                a_run_is_open_while_it_is_queued_or_running,
            }
            bundles {
                bundles_come_back_byte_for_byte,
                an_unknown_bundle_is_not_there,
                a_bundle_is_stored_once,
                keeping_tells_which_bundles_are_missing,
                bundles_are_forgotten_after_a_week_out_of_use,
                bundles_that_runs_and_destructions_need_stay,
                bundles_outlive_a_restart,
            }
            hints {
                published_hints_are_heard,
                everyone_who_listens_hears,
                many_hints_at_once_are_heard,
                a_hint_of_any_size_is_heard_or_leaves_a_gap,
                hints_are_heard_after_a_restart,
            }
            changes {
                every_change_has_its_revision,
                a_change_of_the_name_is_refused,
                makes_one_of_parallel_changes_of_a_revision,
                accepts_one_of_parallel_requests_of_an_idle_task,
                a_key_is_of_one_request_of_its_task,
                a_key_is_forgotten_with_its_run,
            }
            configurations {
                the_configuration_of_one_member_takes_effect_when_it_starts,
                a_rolling_restart_takes_effect_with_its_last_member,
                members_that_are_dead_are_waited_for_and_do_not_count,
                a_member_that_says_nothing_of_its_configuration_decides_nothing,
                configuration_in_force_stays_as_it_is_stored,
                a_leader_adopts_its_own_only_if_there_is_none,
                configurations_are_those_of_living_members,
                decision_replaces_only_the_configuration_that_it_is_based_on,
                decided_configuration_undoes_api_changes_of_its_tasks,
                other_tasks_of_the_api_go_with_a_decided_one_if_they_are_to,
                a_decided_one_has_the_modules_that_are_known,
                the_brake_of_the_fleet_takes_effect_when_all_members_have_the_same,
            }
            configured {
                api_changes_of_configured_tasks_last,
                another_declaration_takes_effect,
                an_edited_module_is_no_other_declaration,
                a_deleted_task_stays_away,
                a_deleted_task_comes_back_when_it_was_not_declared_in_between,
                a_changed_and_deleted_task_stays_away,
                another_declaration_waits_until_the_deleted_task_is_gone,
                a_removed_task_goes_when_its_run_has_ended,
                a_configured_task_takes_over_one_of_the_api,
                a_configured_task_takes_over_a_draft,
                a_task_of_the_api_keeps_the_name_of_a_deleted_one,
            }
            creation {
                a_draft_is_shown_to_nobody_until_its_run_has_succeeded,
                a_failed_creation_leaves_nothing_but_its_run,
                a_name_that_is_being_created_is_told_with_its_run,
                tasks_of_the_api_stand_behind_the_others_in_their_order,
                prune_forgets_old_drafts_and_refused_requests,
                begins_one_of_parallel_creations_of_a_name,
            }
            deletion {
                an_idle_task_goes_at_once,
                a_task_that_runs_goes_when_its_run_has_ended,
                tasks_that_are_deleted_while_they_are_leased_go,
            }
            destruction {
                resources_of_a_task_are_destroyed_before_it_goes,
                a_destruction_goes_on_without_its_declaration,
                without_a_word_and_without_anything_made_a_task_just_goes,
                the_input_that_was_leased_last_is_destroyed,
                destruction_waits_for_the_running_run,
                a_destruction_outlives_its_workers_and_processes,
                a_plan_of_a_destruction_changes_nothing,
                a_destruction_and_the_applies_of_its_group_wait_for_each_other,
            }
            listing {
                runs_are_listed_newest_first,
                runs_of_some_tasks_are_listed_newest_first,
                tasks_with_runs_are_found_by_the_beginning_of_their_names,
                pages_of_runs_go_on_where_the_last_ended,
                lists_tell_all_of_a_run_but_the_text_of_its_plan,
                runs_of_a_creation_are_listed_while_they_go_on_and_afterwards,
                runs_of_earlier_tasks_of_a_name_are_listed,
                the_newest_explanation_is_told,
            }
            requests {
                a_request_is_carried_out_once,
                requests_come_oldest_first,
                a_task_is_enabled_and_run_by_one_change,
            }
            losses {
                a_lost_lease_is_remembered_with_its_task,
                leases_that_a_dead_process_had_are_lost,
                the_newest_errors_of_a_run_stay_and_none_is_long,
                a_run_that_loses_its_workers_fails_with_one_event_that_says_why,
                leases_that_no_scheduler_could_renew_do_not_count,
                leases_that_a_replica_could_renew_count_though_nobody_led,
                a_clock_that_was_years_ahead_silences_no_run_and_keeps_no_lease,
                a_crash_between_lease_and_completion_leaves_nothing_last_applied,
            }
            swallowed {
                a_requested_run_that_fails_leaves_the_change_that_it_replaced,
                a_change_that_was_skipped_because_of_a_requested_run_is_not_lost,
                a_change_back_to_what_was_tried_is_not_lost,
                a_requested_run_whose_worker_is_lost_leaves_the_change,
                releasing_everything_leaves_the_change_of_a_requested_run,
                a_replaced_run_keeps_its_place,
            }
            terraform_states {
                reported_state_is_kept_and_comes_with_the_next_lease,
                a_move_is_counted_once_however_often_it_is_recorded,
                a_conflict_waits_for_a_decision_and_that_for_the_next_apply,
                a_refused_state_keeps_whatever_changes_something_waiting,
                a_worker_that_names_another_place_may_look_there,
                a_conflict_is_over_with_the_next_state,
                a_decision_requests_a_run_where_none_is_queued,
                the_state_of_a_task_that_is_there_is_its_own,
                a_task_under_an_old_name_is_another_one,
                a_decision_makes_a_destruction_due,
            }
            endings {
                a_cancelled_run_ends_once_its_remote_run_has_ended,
                a_run_whose_remote_run_has_ended_is_withdrawn_at_once,
                a_newer_input_runs_after_the_remote_run_has_ended,
                a_lost_worker_is_followed_by_another_that_ends_the_remote_run,
                a_failed_end_of_a_remote_run_is_tried_again_after_a_while,
                a_run_whose_worker_dies_while_it_is_cancelled_leaves_no_remote_run,
                force_gives_the_remote_run_up_with_its_address,
                a_disabled_task_ends_its_remote_run_without_an_event,
                a_deleted_task_stays_until_its_remote_run_has_ended,
                a_destruction_that_is_given_up_ends_its_remote_run,
                a_task_that_is_no_longer_configured_stays_until_its_remote_run_has_ended,
                another_declaration_leaves_the_end_of_the_remote_run_to_the_next_run,
                a_remote_run_is_ended_after_the_plan_of_its_task,
                an_ending_outlasts_the_single_process,
                a_remote_run_of_an_earlier_run_is_ended_too,
            }
            remote_runs {
                the_holder_of_a_lease_records_a_remote_run,
                a_remote_run_outlives_the_lease_under_which_it_was_recorded,
                the_newest_remote_run_of_a_task_outlives_its_run,
                a_remote_run_for_an_older_input_is_given_up,
                a_task_under_an_old_name_has_no_remote_run,
            }
            archives {
                a_reset_removes_every_task_and_deletion,
                a_reset_leaves_what_runs_until_it_has_ended,
                reset_archives_the_rows_that_it_removes,
                the_newest_archives_are_kept,
            }
            consent_walk {
                what_people_have_decided_holds_in_every_order,
            }
            walk {
                random_walks_agree_with_the_model,
            }
        }
    };
    (@topics $fixture:ident; $($topic:ident { $($behaviour:ident,)+ })+) => {
        $(mod $topic {
            use super::$fixture;

            $(#[::tokio::test]
            async fn $behaviour() {
                $crate::$topic::$behaviour::<$fixture>().await;
            })+
        })+
    };
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    /// Fails if the macro leaves out a behaviour, which would then never be tested.
    #[test]
    fn every_behaviour_is_in_the_suite() {
        let suite = include_str!("suite.rs");
        let mut behaviours = 0;
        let mut paths = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        while let Some(path) = paths.pop() {
            if path.is_dir() {
                paths.extend(
                    fs::read_dir(path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
                continue;
            }
            let topic = path.file_stem().unwrap().to_str().unwrap();
            let is_topic = suite.contains(&format!(" {topic} {{\n"));
            if !is_topic {
                continue;
            }
            for line in fs::read_to_string(&path).unwrap().lines() {
                if let Some(rest) = line.strip_prefix("pub async fn ") {
                    let name = rest.split('<').next().unwrap();
                    assert!(suite.contains(&format!(" {name},\n")), "{name} is missing");
                    behaviours += 1;
                }
            }
        }
        assert!(behaviours > 200, "{behaviours}");
    }
}
