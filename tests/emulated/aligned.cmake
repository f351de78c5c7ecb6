# The aligned kernels by themselves, for one channel and for several.
set(kernel_tests "${PROJECT_SOURCE_DIR}/tests/unit/cuda")
boxsum_emulated_test(
  emulated_aligned_rings_test
  SOURCES aligned_plan_test.cu "${cuda}/production/sat_aligned.cu" "${kernel_tests}/aligned_rings_test.cu"
          "${kernel_tests}/aligned_channels_test.cu" "${kernel_tests}/aligned_panels_test.cu"
          "${kernel_tests}/aligned_narrow_test.cu" "${kernel_tests}/aligned_sectors_test.cu"
          "${kernel_tests}/aligned_squares_test.cu"
          "${kernel_tests}/one_wave_test.cu"
)

# The same tests must fail where their kernels are wrong: boxsum_emulated_mutant(name HEADER file TEXT text REPLACEMENT
# text [FILTER tests] [CHANNELS | PANELS | NARROW | SECTORS | SQUARES | WAVE | UNIT name] [TYPES types]) compiles the tests of one channel, of
# several, of two panels, of narrow pixels, of whole sectors, of squares, of one wave, or those of a header of src/cuda/device, with a copy of a header
# of src/cuda in which REPLACEMENT stands in place of TEXT. Only for one pair of types, TYPES, which saves half of the time
# of the compiler.
function(boxsum_emulated_mutant name)
  cmake_parse_arguments(arg "CHANNELS;PANELS;NARROW;SECTORS;SQUARES;WAVE" "HEADER;TEXT;REPLACEMENT;FILTER;UNIT;TYPES" "" ${ARGN})
  set(header "${cuda}/${arg_HEADER}")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}")
  boxsum_emulated_mutate("${header}" "${folder}/cuda/${arg_HEADER}" "${arg_TEXT}" "${arg_REPLACEMENT}")
  set(types "u8, u32")
  if(arg_CHANNELS)
    set(test "${kernel_tests}/aligned_channels_test.cu")
  elseif(arg_PANELS)
    set(test "${kernel_tests}/aligned_panels_test.cu")
  elseif(arg_NARROW)
    set(test "${kernel_tests}/aligned_narrow_test.cu")
    set(types "u8, u64")
  elseif(arg_SECTORS)
    set(test "${kernel_tests}/aligned_sectors_test.cu")
  elseif(arg_SQUARES)
    set(test "${kernel_tests}/aligned_squares_test.cu")
  elseif(arg_WAVE)
    set(test "${kernel_tests}/one_wave_test.cu")
  elseif(arg_UNIT)
    set(test "${PROJECT_SOURCE_DIR}/tests/unit/device/${arg_UNIT}_test.cu")
  else()
    set(test "${kernel_tests}/aligned_rings_test.cu")
  endif()
  if(arg_TYPES)
    set(types "${arg_TYPES}")
  endif()
  boxsum_emulated_objects(${name}_objects "${test}")
  target_compile_definitions(${name}_objects PRIVATE "BOXSUM_ONLY_TYPES=${types}")
  target_include_directories(${name}_objects BEFORE PRIVATE "${folder}")
  boxsum_emulated_rejected(${name} FILTER "${arg_FILTER}" OBJECTS $<TARGET_OBJECTS:${name}_objects>)
endfunction()
boxsum_emulated_mutant(
  mutant_dropped_carry NARROW HEADER production/sat_aligned_roles.cuh
  TEXT "static_cast<int>(at.group), at.tag" REPLACEMENT "0, at.tag"
)
boxsum_emulated_mutant(
  mutant_words_replaced_early NARROW HEADER production/sat_aligned_roles.cuh TEXT "readers.wait()" REPLACEMENT "(void)readers"
)
boxsum_emulated_mutant(
  mutant_words_published_early NARROW HEADER production/sat_aligned_roles.cuh TEXT "shared.rows_added[slot].wait(now.parity());"
  REPLACEMENT ""
)
boxsum_emulated_mutant(
  mutant_laps_alike HEADER production/sat_workspace.cuh TEXT "(lap & ((1u << tag_lap_bits) - 1))" REPLACEMENT "0 * lap"
)
boxsum_emulated_mutant(
  mutant_slot_overwritten NARROW HEADER production/sat_aligned_roles.cuh TEXT "shared.read[slot].wait(next.parity() ^ 1)" REPLACEMENT ""
)
boxsum_emulated_mutant(
  mutant_top_overwritten NARROW HEADER production/sat_aligned_kernel.cuh TEXT "shared.finished[slot].wait(now.parity() ^ 1)" REPLACEMENT ""
)
boxsum_emulated_mutant(
  mutant_counters_not_settled NARROW HEADER production/sat_aligned_kernel.cuh TEXT "block.settle_counters();" REPLACEMENT ""
)
boxsum_emulated_mutant(
  mutant_row_past_its_end WAVE HEADER device/row_store.cuh TEXT "there && !is_end" REPLACEMENT "there"
)
boxsum_emulated_mutant(
  mutant_row_not_turned WAVE HEADER device/row_store.cuh TEXT "(lane + 1) % 32" REPLACEMENT "lane"
)
boxsum_emulated_mutant(
  mutant_border_forgotten NARROW HEADER production/sat_aligned_finish.cuh TEXT "if (p.border && (at.row == 0 || at.col == 0))"
  REPLACEMENT "if (p.border && at.row == 0)"
)
boxsum_emulated_mutant(
  mutant_corner_forgotten NARROW HEADER production/sat_aligned_finish.cuh TEXT ": corner + carry"
  REPLACEMENT ": carry"
)
boxsum_emulated_mutant(
  mutant_last_sum_missing NARROW HEADER production/sat_aligned_finish.cuh TEXT "first <= col && col < valid_cols"
  REPLACEMENT "first < col && col < valid_cols"
)
boxsum_emulated_mutant(
  mutant_row_below_the_table HEADER production/sat_aligned_finish.cuh TEXT "lane < pieces ? valid_rows : 0"
  REPLACEMENT "lane < pieces ? valid_rows + 1 : 0" FILTER edges_of
)
boxsum_emulated_mutant(
  mutant_pieces_beside_the_table HEADER production/sat_aligned_finish.cuh TEXT "lane < pieces ? valid_rows : 0"
  REPLACEMENT "valid_rows" FILTER edges_of
)
boxsum_emulated_mutant(
  mutant_turned_row_below_the_table HEADER production/sat_aligned_finish.cuh TEXT "ends, k, row < valid_rows"
  REPLACEMENT "ends, k, row <= valid_rows" FILTER start_at_any_element
)
boxsum_emulated_mutant(
  mutant_chunks_beside_the_table WAVE HEADER production/sat_wave.cuh TEXT "(lane + 1) * lane_cols <= valid_cols ? valid_rows : 0"
  REPLACEMENT "valid_rows"
)
boxsum_emulated_mutant(
  mutant_sector_written_twice UNIT row_store HEADER device/row_store.cuh TEXT "if (Unit == 32 && lane == 30) limit = 16 - sizeof(Sum);"
  REPLACEMENT ""
)
boxsum_emulated_mutant(
  mutant_last_chunk_forgotten HEADER production/sat_aligned_pixels.cuh TEXT "x[k] = to[i + k]"
  REPLACEMENT "x[k] = to[i + k % together]" FILTER rows_of_the_image
)
boxsum_emulated_mutant(
  mutant_bytes_not_moved HEADER production/sat_aligned_pixels.cuh TEXT "skip % 4 * 8" REPLACEMENT "0" FILTER rows_of_the_image
)
boxsum_emulated_mutant(
  mutant_read_before_it_is_moved HEADER production/sat_aligned_roles.cuh TEXT "shared.rows_added[now.slot()].wait(now.parity());"
  REPLACEMENT "(void)now;" FILTER rows_of_the_image
)
boxsum_emulated_mutant(
  mutant_copies_not_waited_for HEADER production/sat_aligned_roles.cuh TEXT "shared.loaded[slot].arrive_after_copies()"
  REPLACEMENT "shared.loaded[slot].arrive()" FILTER rows_of_the_image
)
boxsum_emulated_mutant(
  mutant_chunks_behind_rows_missing HEADER production/sat_aligned_roles.cuh TEXT "chunk * 16 >= skip + bytes"
  REPLACEMENT "chunk * 16 >= bytes" FILTER rows_of_the_image
)
boxsum_emulated_mutant(
  mutant_ends_of_whole_rows_misplaced HEADER production/sat_aligned_roles.cuh TEXT "to.row(lane + 32 * k) + pixels::row_bytes"
  REPLACEMENT "to.row(lane + 32 * k)" FILTER rows_of_the_image
)
boxsum_emulated_mutant(
  mutant_last_pixels_missing HEADER production/sat_aligned_roles.cuh TEXT "from + i < p.image_end"
  REPLACEMENT "from + i < from" FILTER rows_of_the_image
)
boxsum_emulated_mutant(
  mutant_carry_of_another_channel CHANNELS HEADER production/sat_aligned_finish.cuh TYPES "f32, f32"
  TEXT "carry[k * Channels + (first + i) % Channels]" REPLACEMENT "carry[k * Channels + i % Channels]"
)
boxsum_emulated_mutant(
  mutant_carry_of_another_element CHANNELS HEADER production/sat_aligned_finish.cuh
  TEXT "(carries.first + i) % Channels" REPLACEMENT "i % Channels"
)
boxsum_emulated_mutant(
  mutant_carries_replaced_early CHANNELS HEADER production/sat_aligned_kernel.cuh TEXT "if constexpr (!roles::carries_stay)"
  REPLACEMENT ""
)
boxsum_emulated_mutant(
  mutant_half_without_the_rows_above CHANNELS HEADER production/sat_aligned_halves.cuh TEXT "above[i] += x;" REPLACEMENT ""
)
boxsum_emulated_mutant(
  mutant_lower_half_alike HEADER production/sat_aligned_halves.cuh TEXT "0x4432" REPLACEMENT "0x4410" FILTER start_at_any_element
)
boxsum_emulated_mutant(
  mutant_rows_move_the_other_way HEADER device/row_store.cuh TEXT "(Before + (4 - Step) * k)"
  REPLACEMENT "(Before + Step * k)" FILTER start_at_any_element
)
boxsum_emulated_mutant(
  mutant_total_of_another_channel CHANNELS HEADER production/sat_aligned_tile.cuh TEXT "(in_group * channels + channel)"
  REPLACEMENT "(in_group * channels + channel / 2)"
)
boxsum_emulated_mutant(
  mutant_tiles_start_alike CHANNELS HEADER production/sat_aligned_roles.cuh TEXT "(tile_col * panels + static_cast<unsigned>(panel))"
  REPLACEMENT "0"
)
boxsum_emulated_mutant(
  mutant_panel_left_out_of_carries PANELS HEADER production/sat_aligned_roles.cuh TEXT "if (panel > 0)
                            carry" REPLACEMENT "if (panel > 1)
                            carry"
)
boxsum_emulated_mutant(
  mutant_panel_left_out_of_columns PANELS HEADER production/sat_aligned_kernel.cuh
  TEXT "go_on_across(corner, cols_in_group, next_first)" REPLACEMENT "(void)0"
)
boxsum_emulated_mutant(
  mutant_rows_of_a_half_apart CHANNELS TYPES "f32, f32" HEADER production/sat_aligned_finish.cuh TEXT "(behind > 0 && first > 0)"
  REPLACEMENT "false"
)
boxsum_emulated_mutant(
  mutant_slot_left_half_read CHANNELS TYPES "f32, f32" HEADER production/sat_aligned_finish.cuh TEXT "first + together == tile::warp_rows"
  REPLACEMENT "first == 0"
)
boxsum_emulated_mutant(
  mutant_columns_of_another_panel PANELS HEADER production/sat_aligned_roles.cuh
  TEXT "load_neighbours(own, shared.own_cols[place_of(now)][panel], lane)"
  REPLACEMENT "load_neighbours(own, shared.own_cols[place_of(now)][0], lane)"
)
boxsum_emulated_mutant(
  mutant_border_of_one_channel CHANNELS HEADER production/sat_aligned_finish.cuh TEXT "store_streaming(to + c, entry{})"
  REPLACEMENT "store_streaming(to, entry{})"
)
boxsum_emulated_mutant(
  mutant_shifted_rows_start_alike CHANNELS HEADER production/sat_aligned_pixels.cuh
  TEXT "shifts.of(row_at(place))" REPLACEMENT "shifts.of(0)" FILTER start_at_any_element
)
boxsum_emulated_mutant(
  mutant_words_too_narrow NARROW TYPES "u16, u64" HEADER production/sat_aligned_pixels.cuh TEXT "std::conditional_t<is_byte, std::uint16_t"
  REPLACEMENT "std::conditional_t<sizeof(Pixel) <= 2, std::uint16_t"
)
boxsum_emulated_mutant(
  mutant_sum_to_the_left_forgotten NARROW HEADER device/row_store.cuh TEXT "x[0] = left;" REPLACEMENT ""
)
boxsum_emulated_mutant(
  mutant_phases_alike NARROW TYPES "s16, s64" HEADER production/sat_aligned_launch.cuh TEXT "phase < plan.rows ? phase : 0"
  REPLACEMENT "0"
)
boxsum_emulated_mutant(
  mutant_rows_of_words_swapped NARROW HEADER production/sat_aligned_roles.cuh TEXT "(row[i / 2][i % 2])"
  REPLACEMENT "(row[i / 2][1 - i % 2])"
)
boxsum_emulated_mutant(
  mutant_early_ticket_not_wrapped WAVE HEADER production/sat_wave.cuh TEXT "gridDim.x - 1);" REPLACEMENT "gridDim.x);"
)
boxsum_emulated_mutant(
  mutant_rows_sent_before_they_are_there UNIT staged_rows HEADER device/staged_rows.cuh TEXT "__syncwarp()" REPLACEMENT "(void)0"
)
boxsum_emulated_mutant(
  mutant_staged_rows_below_the_table UNIT staged_rows HEADER device/staged_rows.cuh TEXT "k - above < rows"
  REPLACEMENT "true"
)
boxsum_emulated_mutant(
  mutant_rows_replaced_before_they_are_sent UNIT staged_rows HEADER device/staged_rows.cuh TEXT "wait_until_read<1>();" REPLACEMENT "wait_until_read<2>();"
)
boxsum_emulated_mutant(
  mutant_sectors_without_the_tiles_above SECTORS HEADER production/sat_aligned_kernel.cuh TEXT "above_last + in_group[i]"
  REPLACEMENT "above_last"
)
boxsum_emulated_mutant(
  mutant_sectors_by_words_of_their_own_tile SECTORS HEADER production/sat_aligned_kernel.cuh
  TEXT "col_words) + table_row_words" REPLACEMENT "0) + table_row_words"
)
boxsum_emulated_mutant(
  mutant_sectors_too_early SECTORS HEADER production/sat_aligned_kernel.cuh TEXT "shared.beside.there[slot].wait(now.parity());"
  REPLACEMENT ""
)
boxsum_emulated_mutant(
  mutant_sectors_without_the_rows_above SECTORS HEADER production/sat_aligned_beside.cuh TEXT "warp >= w ? of_warp : 0"
  REPLACEMENT "0 * of_warp"
)
boxsum_emulated_mutant(
  mutant_sectors_replaced_early SECTORS HEADER production/sat_aligned_roles.cuh TEXT "(shared_memory::slots + 1)"
  REPLACEMENT "1"
)
boxsum_emulated_mutant(
  mutant_sectors_beside_the_table SECTORS HEADER device/row_store.cuh TEXT "there && behind < cols" REPLACEMENT "there"
)
boxsum_emulated_mutant(
  mutant_first_sectors_left_out SECTORS HEADER device/row_store.cuh TEXT "there && first && i >= start" REPLACEMENT "false"
)
boxsum_emulated_mutant(
  mutant_sectors_of_both_pieces UNIT row_store HEADER device/row_store.cuh TEXT "there && first && i >= start"
  REPLACEMENT "there && i >= start"
)
boxsum_emulated_mutant(
  mutant_one_row_of_publishers UNIT word_gather HEADER device/word_gather.cuh
  TEXT "look_at_batch(first, count, found_beside, beside, stride, tag, keep)"
  REPLACEMENT "look_at_batch(first, count, found_beside, where, stride, tag, keep)"
)
boxsum_emulated_mutant(
  mutant_squares_of_another_row SQUARES HEADER production/sat_aligned_finish.cuh TEXT "of_lower * of_lower"
  REPLACEMENT "of_upper * of_upper"
)
boxsum_emulated_mutant(
  mutant_squares_of_another_column SQUARES HEADER production/sat_aligned_pixels.cuh
  TEXT "lane % 2 == 0 ? squares[1] : squares[3]" REPLACEMENT "lane % 2 == 0 ? squares[3] : squares[1]"
)
boxsum_emulated_mutant(
  mutant_squares_of_the_first_plane SQUARES HEADER production/sat_aligned_finish.cuh
  TEXT "at.plane * p.squares_plane_stride" REPLACEMENT "0"
)
boxsum_emulated_mutant(
  mutant_totals_overlap SQUARES HEADER production/sat_aligned_plan.hpp
  TEXT "std::max(16, aligned_most_group_rows * value_words)" REPLACEMENT "16" FILTER many_tiles
)
boxsum_emulated_mutant(
  mutant_last_word_of_a_row_elsewhere SQUARES HEADER device/tagged_words.cuh TEXT "32 * words_of<T> - 62"
  REPLACEMENT "words_of<T>"
)
