#include "command_line.hpp"
#include "image_io/output_file.hpp"

int main(int argc, char** argv) {
    using namespace boxsum::cli;
    try {
        reserve_standard_streams();
        install_signal_handlers();
        return static_cast<int>(parse_command_line(std::vector<std::string>(argv + (argc > 0), argv + argc))());
    } catch (const closed_pipe& e) {
        end_as_by_closed_pipe();
        print_error(e.what());
        return static_cast<int>(exit_code::failure);
    } catch (...) {
        const failure f = describe(std::current_exception());
        print_error(f.message);
        return static_cast<int>(f.code);
    }
}
