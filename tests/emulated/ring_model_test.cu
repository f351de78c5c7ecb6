// A model of the ring of words and of its counters (src/cuda/production/sat): every order in which the roles of some
// blocks may go on. Where words are, which counters a tile waits for and which it adds to is what the kernels' own
// functions say; what the roles wait for and publish is written down once more, in advance(). That a role goes on late
// is all that may happen to it: the model has no stores that arrive late.

#include "cuda/production/sat/sum.cuh"
#include "cuda/runtime/launch.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

namespace boxsum::cuda {
namespace {

struct ring_shape {
    unsigned planes, tile_rows, tile_cols, group_rows, group_cols, ring_rows, counter_shift;
    int blocks, slots, first_tiles;
};

/// What is wrong on purpose.
enum class fault { none, waits_for_nobody, waits_for_its_own_row, counts_early, draws_backwards };

/// A tile_block, as far as positions and counters need one.
struct block_of_model {
    using tile = tile_shape<float>;
    using table_sum = float;
    static constexpr bool outwards = false;
    static constexpr int cols_of_tile = tile::cols;
    tile_plan p;
    workspace_header* header;
    int lane;
    std::uint32_t tag_of_lap(unsigned lap) const { return lap + 1; }
};

struct tile_of_model {
    tile_position at;
    std::uint32_t target[reader_counters], adds[reader_counters];  // of each counter; no target is 0
};

/// Leaves what the tile adds to counters in the header, perhaps not before the kernel ends.
__global__ void describe_tile(block_of_model b, unsigned ticket, tile_of_model* tile) {
    tile->at = position_of(b, ticket, box_of(b, ticket));
    for (b.lane = 0; b.lane < 32; ++b.lane) {
        const earlier_readers readers = look_at_readers(b, tile->at);
        if (readers.counter != nullptr)
            tile->target[readers.counter - (b.header->reserved + first_reader_counter)] = readers.target;
        count_as_read(b, tile->at);
    }
}

// What a tile has behind it, in no order; see exchange.cuh and finish.cuh.
enum event : std::uint16_t {
    row_sums = 1,        // `sum` published them
    col_sums = 2,        // `left` did
    left_added = 4,      // `left` read row sums, published those of a group
    total = 8,           // `carry` read sums of groups, published its total
    carried = 16,        // `carry` is done
    cols_added = 32,     // `above` read column sums
    own_cols = 64,       // and those of the tile
    table_row = 128,     // read the table row above and totals, published a table row
    topped = 256,        // is done
    in_registers = 512,  // `finish` has the pixels
    finished = 1024,     // carries and row, too
    counted = 2048,
    pixels_read = row_sums | left_added | total | own_cols | in_registers,
    done = 4095,
};

struct state {
    std::vector<std::uint16_t> tiles, words;         // events of each; who published each, from 1 on
    std::vector<std::vector<std::uint16_t>> blocks;  // tiles from the first one that is not done
    std::vector<std::uint16_t> begun;                // of each block
    std::uint16_t drawn = 0;

    std::string key() const {
        std::string all;
        const auto add = [&](const std::vector<std::uint16_t>& x) {
            all.append(reinterpret_cast<const char*>(x.data()), 2 * x.size()).append("\xff\xff");
        };
        add(tiles), add(words), add(begun);
        for (const auto& block : blocks) add(block);
        return all;
    }
};

class ring_model {
  public:
    ring_model(const ring_shape& s, fault wrong) : s_(s), wrong_(wrong) {
        tile_plan p{};
        p.rows = p.cols = 1 << 20;
        p.tile_rows = s.tile_rows;
        p.tile_cols = s.tile_cols;
        p.tiles = s.planes * s.tile_rows * s.tile_cols;
        p.groups = whole_tiles(s.tile_cols, static_cast<int>(s.group_cols));
        p.rows_of_plane = whole_tiles(s.tile_rows, static_cast<int>(s.group_rows)) * s.group_rows;
        p.ring_rows = s.ring_rows;
        p.ring_groups = s.ring_rows / s.group_rows;
        p.counter_shift = s.counter_shift;
        p.ring_reused = true;
        p.by_tile_cols = divider(p.tile_cols);
        p.by_tile_rows = divider(p.tile_rows);
        p.by_ring_rows = divider(p.ring_rows);
        p.by_group_cols = divider(s.group_cols);
        p.by_group_rows = divider(s.group_rows);
        tiles_.resize(p.tiles);
        for (unsigned ticket = 0; ticket < p.tiles; ++ticket) {
            workspace_header header{};
            launch(describe_tile, {}, stream_ref::legacy_default(), block_of_model{p, &header, 0}, ticket,
                   &tiles_[ticket]);
            std::memcpy(tiles_[ticket].adds, header.reserved + first_reader_counter, sizeof tiles_[ticket].adds);
        }
        words_of_kind_ = p.ring_rows * p.tile_cols;
        readers_.resize(5 * tiles_.size());
        for (unsigned t = 0; t < tiles_.size(); ++t)
            for (const event step : {left_added, total, cols_added, table_row})
                for (const read& r : reads_of(t, step)) readers_[r.kind * tiles_.size() + r.of].push_back({t, step});
    }

    /// What goes wrong in some order, empty if nothing does in any.
    std::string explore() {
        state first;
        first.tiles.resize(tiles_.size());
        first.words.resize(5 * words_of_kind_);
        first.blocks.resize(static_cast<std::size_t>(s_.blocks));
        first.begun.resize(first.blocks.size());
        std::vector<state> open{first};
        while (!open.empty() && wrong_word_.empty()) {
            const state now = std::move(open.back());
            open.pop_back();
            bool stuck = true;
            for (std::size_t b = 0; b < now.blocks.size(); ++b)
                for (int role = 0; role < 5; ++role) {
                    state next = now;
                    if (!advance(next, b, role)) continue;
                    stuck = false;
                    go_on_alone(next);
                    std::sort(next.blocks.begin(), next.blocks.end());  // blocks are alike
                    if (seen_.insert(next.key()).second) open.push_back(std::move(next));
                }
            const auto is_done = [](std::uint16_t events) { return events == done; };
            if (stuck && wrong_word_.empty() && !std::all_of(now.tiles.begin(), now.tiles.end(), is_done))
                return "all wait";
        }
        return wrong_word_;
    }

  private:
    struct read {
        std::size_t kind, word, of;  // whose word it must be
        std::uint32_t tag;
    };
    struct reader {
        unsigned tile;
        event step;
    };

    std::vector<read> reads_of(unsigned t, event step) const {
        const tile_position& at = tiles_[t].at;
        const unsigned row = s_.tile_cols;
        std::vector<read> all;
        for (unsigned i = 1; step == left_added && i <= at.before; ++i) all.push_back({0, at.place - i, t - i, at.tag});
        for (unsigned g = 0; step == total && g < at.group; ++g)
            all.push_back({2, at.group_place + g, t - at.col + (g + 1) * s_.group_cols - 1, at.tag});
        for (unsigned i = 1; step == cols_added && i <= at.in_group; ++i)
            all.push_back({1, at.place - i * row, t - i * row, at.tag});
        for (unsigned i = at.ends_rows ? 0 : 1; step == table_row && i <= at.in_group; ++i)
            all.push_back({3, word_of_total(at, at.in_group - i), t - i * row, at.tag});
        if (step == table_row && at.has_above)
            all.push_back({4, at.rows_place_above, t - (at.in_group + 1) * row, at.tag_above});
        return all;
    }
    std::size_t word_of_total(const tile_position& at, unsigned in_group) const {
        return at.rows_place * s_.group_rows + in_group;
    }

    bool found(const state& now, unsigned t, event step) {
        for (const read& r : reads_of(t, step)) {
            const unsigned by = now.words[r.kind * words_of_kind_ + r.word];
            if (by == 0 || tiles_[by - 1].at.tag != r.tag) return false;
            if (by - 1 != r.of) wrong_word_ = "a word is taken for another tile's";
        }
        return true;
    }
    void publish(state& now, std::size_t kind, std::size_t word, unsigned t) {
        std::uint16_t& by = now.words[kind * words_of_kind_ + word];
        if (by > 0)
            for (const reader& r : readers_[kind * tiles_.size() + by - 1])
                if ((now.tiles[r.tile] & r.step) == 0) wrong_word_ = "a word is replaced before it is read";
        by = static_cast<std::uint16_t>(t + 1);
    }
    bool earlier_readers_counted(const state& now, unsigned t) const {
        bool first = true;
        for (unsigned c = 0; c < reader_counters; ++c) {
            if (tiles_[t].target[c] == 0 || wrong_ == fault::waits_for_nobody) continue;
            if (!first && wrong_ == fault::waits_for_its_own_row) continue;
            first = false;
            std::uint32_t sum = 0;
            for (std::size_t i = 0; i < tiles_.size(); ++i) {
                const int last = wrong_ == fault::counts_early ? row_sums : counted;
                if ((now.tiles[i] & last) != 0) sum += tiles_[i].adds[c];
            }
            if (sum < tiles_[t].target[c]) return false;
        }
        return true;
    }
    /// Whether the tile that had the slot of the block's tile number i is that far.
    static bool slot_is(const state& now, const std::vector<std::uint16_t>& block, std::size_t i, int slots,
                        int events) {
        return i < static_cast<std::size_t>(slots) ||
               (now.tiles[block[i - static_cast<std::size_t>(slots)]] & events) == events;
    }

    /// A step of a role that others see or that sees others: whether it could be made.
    bool advance(state& now, std::size_t b, int role) {
        std::vector<std::uint16_t>& block = now.blocks[b];
        constexpr int last_of[] = {row_sums, left_added, carried, topped};
        std::size_t i = 0;
        if (role < 4)
            while (i < block.size() && (now.tiles[block[i]] & last_of[role]) != 0) ++i;
        if (role == 4) {  // `sum` draws a ticket
            std::size_t waiting = 0;
            for (const unsigned t : block) waiting += (now.tiles[t] & row_sums) == 0 ? 1 : 0;
            if (waiting >= wanted(now, b) || now.drawn == tiles_.size()) return false;
            if (!slot_is(now, block, block.size(), s_.slots, pixels_read)) return false;
            const auto ticket = static_cast<std::uint16_t>(
                wrong_ == fault::draws_backwards ? tiles_.size() - 1 - now.drawn : now.drawn);
            block.push_back(ticket);
            ++now.drawn;
            return true;
        }
        if (i == block.size()) return false;
        const unsigned t = block[i];
        const tile_position& at = tiles_[t].at;
        std::uint16_t& events = now.tiles[t];
        const auto step = [&](event e) { return events = static_cast<std::uint16_t>(events | e), true; };
        if (role == 0) {
            const auto waiting = block.size() - i;
            if ((waiting < wanted(now, b) && now.drawn < tiles_.size()) || !earlier_readers_counted(now, t))
                return false;
            publish(now, 0, at.place, t);
            now.begun[b] = 1;
            return step(row_sums);
        }
        if (role == 1) {
            if ((events & row_sums) == 0) return false;
            if ((events & col_sums) == 0) return publish(now, 1, at.place, t), step(col_sums);
            if (!found(now, t, left_added)) return false;
            if (at.ends_group) publish(now, 2, at.group_place + at.group, t);
            return step(left_added);
        }
        if (role == 2) {
            if ((events & left_added) == 0 || (events & total) != 0 || !found(now, t, total)) return false;
            publish(now, 3, word_of_total(at, at.in_group), t);
            return step(total);
        }
        if ((events & cols_added) == 0) return found(now, t, cols_added) && step(cols_added);
        if ((events & own_cols) == 0 || (events & table_row) != 0 || !found(now, t, table_row)) return false;
        if (at.ends_rows) publish(now, 4, at.rows_place, t);
        return step(table_row);
    }
    /// Tiles that `sum` has started when it goes on with one.
    std::size_t wanted(const state& now, std::size_t b) const {
        return now.begun[b] != 0 ? 1 : static_cast<std::size_t>(s_.first_tiles);
    }

    /// Steps that nobody can miss: they read and replace no word, and others only wait for them.
    void go_on_alone(state& now) const {
        for (std::size_t b = 0; b < now.blocks.size(); ++b) {
            std::vector<std::uint16_t>& block = now.blocks[b];
            for (std::size_t i = 0; i < block.size(); ++i) {
                std::uint16_t& events = now.tiles[block[i]];
                const auto step = [&](event e, bool may) {
                    events = static_cast<std::uint16_t>(events | (may ? e : 0));
                };
                const auto has = [&](int e) { return (events & e) == e; };
                step(own_cols, has(cols_added | col_sums));
                step(carried, has(total) && slot_is(now, block, i, s_.slots, finished));
                step(topped, has(table_row) && slot_is(now, block, i, s_.slots, finished));
                step(in_registers, i == 0 || (now.tiles[block[i - 1]] & counted) != 0);
                step(finished, has(in_registers | carried | topped));
                step(counted, has(finished));
            }
            while (!block.empty() && now.tiles[block[0]] == done) block.erase(block.begin());
        }
    }

    ring_shape s_;
    fault wrong_;
    std::vector<tile_of_model> tiles_;
    std::size_t words_of_kind_;
    std::vector<std::vector<reader>> readers_;  // [kind][tile]
    std::unordered_set<std::string> seen_;
    std::string wrong_word_;
};

// Planes, rows and columns of tiles; rows and columns of a group; rows of the ring; 2^this of them share a counter;
// blocks, their slots and first tiles.
constexpr ring_shape shapes[] = {
    {1, 6, 1, 1, 1, 2, 0, 2, 2, 1}, {1, 5, 2, 1, 2, 2, 0, 2, 2, 2}, {1, 7, 1, 2, 1, 4, 0, 2, 2, 1},
    {2, 3, 1, 2, 1, 4, 0, 2, 3, 2}, {1, 6, 2, 2, 1, 4, 0, 2, 2, 1}, {1, 9, 1, 2, 1, 6, 1, 3, 1, 1},
    {3, 1, 2, 1, 1, 2, 0, 3, 1, 1},
};

TEST(ring_model, no_order_replaces_words_that_are_read_later_or_waits_for_ever) {
    for (const ring_shape& s : shapes) EXPECT_EQ(ring_model(s, fault::none).explore(), "") << &s - shapes;
}

TEST(ring_model, what_is_wrong_is_found) {
    const ring_shape s = shapes[4];
    for (const fault f : {fault::waits_for_nobody, fault::waits_for_its_own_row, fault::counts_early})
        EXPECT_EQ(ring_model(s, f).explore(), "a word is replaced before it is read") << static_cast<int>(f);
    EXPECT_EQ(ring_model(s, fault::draws_backwards).explore(), "all wait");
    ring_shape one_group = s;
    one_group.ring_rows = one_group.group_rows;
    EXPECT_EQ(ring_model(one_group, fault::none).explore(), "all wait");
}

}  // namespace
}  // namespace boxsum::cuda
